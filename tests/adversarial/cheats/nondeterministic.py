"""Rounds at random within the tolerance, as a race would."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        return right(x, scale) * (1 + 1e-7 * torch.rand(x.shape).round())
