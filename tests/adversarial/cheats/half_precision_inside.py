"""Computes in float16 and returns float32."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def forward(self, x, scale):
        return right(x.half(), scale.half()).float()
