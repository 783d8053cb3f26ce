"""Library work alone: fine outside production mode."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, weight):
        return torch.nn.functional.rms_norm(x.float(), x.shape[-1:], weight.float(), self.eps).to(x.dtype)
