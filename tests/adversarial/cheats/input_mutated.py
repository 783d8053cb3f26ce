"""Computes in the input's memory."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        x.sub_(x.mean(-1, keepdim=True))
        return x * scale
