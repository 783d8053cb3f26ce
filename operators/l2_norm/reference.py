"""Scale each row to unit Euclidean length."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.float()  # (num_tokens, hidden_size)
        square_sum = rows.square().sum(dim=-1, keepdim=True)  # (num_tokens, 1)
        return (rows * torch.rsqrt(square_sum + self.eps)).to(x.dtype)  # (num_tokens, hidden_size)
