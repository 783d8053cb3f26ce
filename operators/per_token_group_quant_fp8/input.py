"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(token_count: int, hidden_size: int) -> dict[str, torch.Tensor]:
    return {"x": torch.randn(token_count, hidden_size, dtype=torch.bfloat16)}  # (token_count, hidden_size)
