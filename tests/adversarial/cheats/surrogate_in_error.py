"""Raises a text that UTF-8 cannot hold."""

from torch import nn


class Model(nn.Module):
    def forward(self, x, scale):
        raise ValueError("bad \ud800 text")
