"""Compiled by the framework at its first call, outside the timed calls."""

import torch
from torch import nn


@torch.compile(dynamic=True)
def normalise(x, eps):
    rows = x.float()
    return (rows * torch.rsqrt(rows.square().sum(-1, keepdim=True) + eps)).to(x.dtype)


class Model(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return normalise(x, self.eps)
