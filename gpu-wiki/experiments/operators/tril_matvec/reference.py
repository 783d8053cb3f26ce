"""Product of the lower triangle of a square matrix with a vector."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return a.tril() @ x  # (n,)
