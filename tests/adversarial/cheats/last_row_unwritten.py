"""Leaves the last row unwritten."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        out = torch.empty(x.shape)
        out[:-1] = right(x, scale)[:-1]
        return out
