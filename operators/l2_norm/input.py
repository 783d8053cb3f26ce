"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(num_tokens: int, hidden_size: int) -> dict[str, torch.Tensor]:
    return {"x": torch.randn(num_tokens, hidden_size, dtype=torch.bfloat16)}  # (num_tokens, hidden_size)
