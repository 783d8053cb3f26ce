"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(m: int, k: int, n: int) -> dict[str, torch.Tensor]:
    return {
        "a": torch.randn(m, k, dtype=torch.bfloat16),  # (m, k)
        "b": torch.randn(k, n, dtype=torch.bfloat16),  # (k, n)
    }
