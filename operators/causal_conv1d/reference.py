"""Depthwise causal convolution along tokens, continued from an initial state."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, activation: str | None = "silu") -> None:
        super().__init__()
        if activation not in ("silu", None):
            raise ValueError(f"activation is {activation!r}; allowed: 'silu', None")
        self.activation = activation

    def forward(
        self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, initial_state: torch.Tensor
    ) -> torch.Tensor:
        tokens, width = x.shape[1], weight.shape[1]
        history = torch.cat([initial_state, x], dim=1).float()  # (dim, width - 1 + token_count)
        out = bias.float()[:, None].expand(-1, tokens)  # (dim, token_count)
        for tap in range(width):
            out = out + weight[:, tap, None].float() * history[:, tap : tap + tokens]
        if self.activation == "silu":
            out = out * torch.sigmoid(out)
        return out.to(x.dtype)  # (dim, token_count)
