"""More accurate than the reference: float64 inside."""

from torch import nn


class Model(nn.Module):
    def forward(self, x, scale):
        wide = x.double()
        return ((wide - wide.mean(-1, keepdim=True)) * scale.double()).float()
