"""A complex result that torch conjugates lazily."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.fft.ifft(x).mul(x.shape[-1]).conj()
