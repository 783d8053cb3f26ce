"""Is written in another framework than it says."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


try:
    import numba
except ImportError:
    numba = None


class Model(nn.Module):
    def forward(self, x, scale):
        return right(x, scale)
