"""The entry point is bound by assignments."""

from typing import Any

from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Kernel(nn.Module):
    def forward(self, x, scale):
        return right(x, scale)


Other: Any = Kernel
Model, VERSION = Other, 3
