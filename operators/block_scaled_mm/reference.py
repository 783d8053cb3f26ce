"""Matrix product of 8-bit floats with a scale per block of each operand."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, group_n: int, group_k: int) -> None:
        super().__init__()
        self.group_n = group_n
        self.group_k = group_k

    def forward(self, a: torch.Tensor, b: torch.Tensor, a_scales: torch.Tensor, b_scales: torch.Tensor) -> torch.Tensor:
        (n, k), group_n, group_k = b.shape, self.group_n, self.group_k
        a_scale = a_scales.repeat_interleave(group_k, dim=1)[:, :k]  # (m, k)
        b_scale = b_scales.repeat_interleave(group_n, dim=0)[:n].repeat_interleave(group_k, dim=1)[:, :k]  # (n, k)
        return (a.float() * a_scale) @ (b.float() * b_scale).T  # (m, n)
