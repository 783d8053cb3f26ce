"""Quantise each group of a row to 8-bit floats with a scale of its own."""

import torch
from torch import nn

FP8_MAX = 448.0  # largest finite value of float8_e4m3fn
EPS = 1e-10  # least largest value of a group, so that a group of zeros has a scale


class Model(nn.Module):
    def __init__(self, group_size: int) -> None:
        super().__init__()
        self.group_size = group_size

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        groups = x.float().view(x.shape[0], -1, self.group_size)  # (token_count, groups, group_size)
        largest = groups.abs().amax(dim=-1, keepdim=True).clamp(min=EPS)  # (token_count, groups, 1)
        scales = largest / FP8_MAX  # (token_count, groups, 1)
        quantized = (groups / scales).clamp(-FP8_MAX, FP8_MAX).to(torch.float8_e4m3fn)
        return quantized.view(x.shape), scales.squeeze(-1)  # (token_count, hidden_size), (token_count, groups)
