"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(token_count: int, top_k: int, hidden_size: int) -> dict[str, torch.Tensor]:
    outputs = torch.randn(token_count, top_k, hidden_size, dtype=torch.bfloat16)
    return {"expert_outputs": outputs}  # (token_count, top_k, hidden_size)
