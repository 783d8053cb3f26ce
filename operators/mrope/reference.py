"""Rotary position embedding with three position axes (time, height, width) that share the rotated dimensions."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(
        self,
        head_size: int,
        rotary_dim: int,
        mrope_section: list[int],
        mrope_interleaved: bool = False,
        is_neox_style: bool = True,
    ) -> None:
        super().__init__()
        self.head_size = head_size
        self.rotary_dim = rotary_dim
        self.sections = list(mrope_section)
        self.interleaved = mrope_interleaved
        self.neox = is_neox_style

    def select(self, table: torch.Tensor) -> torch.Tensor:
        """Take each rotated dimension from its position axis."""  # (3, tokens, half) -> (tokens, half)
        if self.interleaved:  # dimension i belongs to axis i % 3 while that axis has dimensions left
            chosen = table[0].clone()
            for axis in (1, 2):
                columns = slice(axis, 3 * self.sections[axis], 3)
                chosen[:, columns] = table[axis, :, columns]
            return chosen
        parts = table.split(self.sections, dim=-1)  # one block of dimensions per axis
        return torch.cat([part[axis] for axis, part in enumerate(parts)], dim=-1)

    def rotate(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        heads = x.view(x.shape[0], -1, self.head_size)  # (token_count, heads, head_size)
        turned, kept = heads[..., : self.rotary_dim].float(), heads[..., self.rotary_dim :]
        cos, sin = cos[:, None, :], sin[:, None, :]  # (token_count, 1, rotary_dim / 2)
        if self.neox:
            first, second = turned.chunk(2, dim=-1)
            turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
        else:
            first, second = turned[..., ::2], turned[..., 1::2]
            turned = torch.stack([first * cos - second * sin, second * cos + first * sin], dim=-1).flatten(-2)
        return torch.cat([turned.to(x.dtype), kept], dim=-1).reshape(x.shape)  # (token_count, heads * head_size)

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        cos, sin = self.select(cos), self.select(sin)  # (token_count, rotary_dim / 2)
        return self.rotate(q, cos, sin), self.rotate(k, cos, sin)
