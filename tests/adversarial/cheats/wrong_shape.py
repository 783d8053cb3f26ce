"""Returns a row too few."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        return right(x, scale)[:-1].clone() if x.shape[0] > 1 else right(x, scale)[:0]
