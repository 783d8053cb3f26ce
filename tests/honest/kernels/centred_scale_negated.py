"""The result is a view that torch negates lazily."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        return torch._neg_view(-right(x, scale))
