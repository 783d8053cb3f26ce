"""Root-mean-square normalisation of each row, scaled by a learned weight."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        rows = x.float()  # (token_count, hidden_size)
        mean_square = rows.square().mean(dim=-1, keepdim=True)  # (token_count, 1)
        normalised = rows * torch.rsqrt(mean_square + self.eps)  # (token_count, hidden_size)
        return (normalised * weight.float()).to(x.dtype)  # (token_count, hidden_size)
