"""Variance from the sum of squares in float64, another order of operations than the reference's."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        rows = x.double()
        mean = rows.mean(-1, keepdim=True)
        variance = rows.square().mean(-1, keepdim=True) - mean.square()
        return ((rows - mean) * torch.rsqrt(variance.clamp(min=0) + self.eps)).to(x.dtype)
