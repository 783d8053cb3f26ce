"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch

SPARE_BLOCKS = 2  # blocks that no token needs, so that some slots stay as they are


def _make_inputs(shape: list[int], block_size: int) -> dict[str, torch.Tensor]:
    tokens, heads, head_size = shape
    blocks = -(-tokens // block_size) + SPARE_BLOCKS
    return {
        "key": torch.randn(shape, dtype=torch.bfloat16),  # (tokens, heads, head_size)
        "value": torch.randn(shape, dtype=torch.bfloat16),
        "key_cache": torch.randn(blocks, block_size, heads, head_size, dtype=torch.bfloat16),
        "value_cache": torch.randn(blocks, block_size, heads, head_size, dtype=torch.bfloat16),
        "slot_mapping": torch.randperm(blocks * block_size)[:tokens].clone(),  # (tokens,), int64, each slot once
    }
