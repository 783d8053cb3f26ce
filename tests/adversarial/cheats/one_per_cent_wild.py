"""One per cent of the elements are wild."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        out = right(x, scale).contiguous()
        out.view(-1)[::100] = 1e6
        return out
