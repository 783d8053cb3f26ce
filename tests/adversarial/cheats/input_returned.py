"""Computes in the input's memory and returns it."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        return x.sub_(x.mean(-1, keepdim=True)).mul_(scale)
