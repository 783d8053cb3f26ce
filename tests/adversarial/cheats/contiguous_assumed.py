"""Reads rows as if nothing lay between them."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        return right(torch.as_strided(x, x.shape, (x.shape[1], 1)), scale)
