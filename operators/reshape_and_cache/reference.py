"""Write the keys and values of new tokens into the paged cache, in place."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(
        self,
        key: torch.Tensor,
        value: torch.Tensor,
        key_cache: torch.Tensor,
        value_cache: torch.Tensor,
        slot_mapping: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        # A slot counts rows of the cache: slot = block * block_size + offset. No slot occurs twice.
        key_cache.flatten(0, 1).index_copy_(0, slot_mapping, key)  # (num_blocks * block_size, heads, head_size)
        value_cache.flatten(0, 1).index_copy_(0, slot_mapping, value)
        return key_cache, value_cache  # (num_blocks, block_size, heads, head_size)
