"""Multiplies by the reciprocal scale: some values land on the neighbouring step, which the contract allows."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, group_size):
        super().__init__()
        self.group_size = group_size

    def forward(self, x):
        groups = x.float().unflatten(-1, (-1, self.group_size))
        scales = groups.abs().amax(-1).clamp(min=1e-10) / 448.0
        quantized = (groups * (1.0 / scales).unsqueeze(-1)).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
        return quantized.flatten(-2), scales
