"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(m: int, n: int, k: int, group_n: int, group_k: int) -> dict[str, torch.Tensor]:
    blocks_n, blocks_k = -(-n // group_n), -(-k // group_k)
    return {
        "a": torch.randn(m, k, dtype=torch.bfloat16).to(torch.float8_e4m3fn),  # (m, k)
        "b": torch.randn(n, k, dtype=torch.bfloat16).to(torch.float8_e4m3fn),  # (n, k)
        "a_scales": 0.5 + torch.rand(m, blocks_k),  # (m, blocks_k)
        "b_scales": 0.5 + torch.rand(blocks_n, blocks_k),  # (blocks_n, blocks_k)
    }
