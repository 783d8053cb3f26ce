"""Returns a view of an input."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        return x.view(x.shape) if x.is_contiguous() else x[:]
