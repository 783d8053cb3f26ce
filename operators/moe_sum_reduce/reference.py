"""Sum the outputs of each token's experts and scale the sum."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, routed_scaling_factor: float = 1.0) -> None:
        super().__init__()
        self.routed_scaling_factor = routed_scaling_factor

    def forward(self, expert_outputs: torch.Tensor) -> torch.Tensor:
        total = expert_outputs.float().sum(dim=1)  # (token_count, hidden_size)
        return (total * self.routed_scaling_factor).to(expert_outputs.dtype)  # (token_count, hidden_size)
