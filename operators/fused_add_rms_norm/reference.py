"""Add a residual, then root-mean-square normalisation of each row of the sum."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps

    def forward(
        self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        total = x.float() + residual.float()  # (token_count, hidden_size)
        mean_square = total.square().mean(dim=-1, keepdim=True)  # (token_count, 1)
        normalised = total * torch.rsqrt(mean_square + self.eps)  # (token_count, hidden_size)
        return (normalised * weight.float()).to(x.dtype), total.to(x.dtype)
