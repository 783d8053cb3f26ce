"""Returns one buffer per shape again and again."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


BUFFERS = {}


class Model(nn.Module):
    def forward(self, x, scale):
        out = BUFFERS.setdefault(x.shape, torch.empty(x.shape))
        return out.copy_(right(x, scale))
