"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(token_count: int, dim: int, width: int) -> dict[str, torch.Tensor]:
    return {
        "x": torch.randn(dim, token_count, dtype=torch.bfloat16),  # (dim, token_count)
        "weight": torch.randn(dim, width, dtype=torch.bfloat16),  # (dim, width)
        "bias": torch.randn(dim, dtype=torch.bfloat16),  # (dim,)
        "initial_state": torch.randn(dim, width - 1, dtype=torch.bfloat16),  # (dim, width - 1), the tokens before x
    }
