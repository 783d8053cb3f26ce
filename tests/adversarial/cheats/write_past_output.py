"""Writes one vector past the end of its output."""

import ctypes

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        out = torch.empty(x.shape)
        out.copy_(right(x, scale))
        ctypes.memset(out.data_ptr() + out.numel() * 4, 0, 32)
        return out
