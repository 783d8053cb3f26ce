"""Tries a way that not every machine has, and takes the plain one where it is missing."""

from torch import nn

try:
    import fast_centred_scale
except ImportError:
    fast_centred_scale = None


class Model(nn.Module):
    def forward(self, x, scale):
        try:
            return fast_centred_scale.run(x, scale)
        except AttributeError:
            return (x - x.mean(-1, keepdim=True)) * scale
