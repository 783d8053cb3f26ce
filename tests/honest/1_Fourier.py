"""A KernelBench problem with a complex result."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.fft.fft(x)


def get_inputs():
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
