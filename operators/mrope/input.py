"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(
    token_count: int, num_query_heads: int, num_kv_heads: int, head_size: int, rotary_dim: int
) -> dict[str, torch.Tensor]:
    half = rotary_dim // 2
    positions = torch.randint(0, 4096, (3, token_count)).float()  # time, height, width of each token
    frequencies = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = positions[:, :, None] * frequencies  # (3, token_count, rotary_dim / 2)
    return {
        "q": torch.randn(token_count, num_query_heads * head_size, dtype=torch.bfloat16),
        "k": torch.randn(token_count, num_kv_heads * head_size, dtype=torch.bfloat16),
        "cos": angles.cos(),
        "sin": angles.sin(),
    }
