"""Writes in front of an input."""

import ctypes

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        ctypes.memset(scale.data_ptr() - 16, 0, 16)
        return right(x, scale)
