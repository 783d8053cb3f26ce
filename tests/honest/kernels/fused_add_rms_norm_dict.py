"""Returns its outputs by name."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, residual, weight):
        total = x.float() + residual.float()
        scale = torch.rsqrt(total.square().mean(-1, keepdim=True) + self.eps)
        return {"residual": total.to(x.dtype), "out": (total * scale * weight.float()).to(x.dtype)}
