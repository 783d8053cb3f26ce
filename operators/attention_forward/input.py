"""Inputs on torch's current default device; the caller sets the device and the seed."""

import itertools

import torch


def _make_inputs(num_heads: int, head_dim: int, seq_lens: list[int]) -> dict[str, torch.Tensor]:
    ends = [0, *itertools.accumulate(seq_lens)]
    shape = (ends[-1], num_heads, head_dim)
    return {
        "q": torch.randn(shape, dtype=torch.bfloat16),  # (tokens, num_heads, head_dim)
        "k": torch.randn(shape, dtype=torch.bfloat16),
        "v": torch.randn(shape, dtype=torch.bfloat16),
        "cu_seqlens_q": torch.tensor(ends, dtype=torch.int32),  # (sequences + 1,)
        "cu_seqlens_k": torch.tensor(ends, dtype=torch.int32),
    }
