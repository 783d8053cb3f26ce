"""Loads code that is not in its text."""

import ctypes

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


library = ctypes.CDLL("libm.so.6")


class Model(nn.Module):
    def forward(self, x, scale):
        return right(x, scale)
