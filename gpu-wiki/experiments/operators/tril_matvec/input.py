"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(n: int) -> dict[str, torch.Tensor]:
    return {
        "a": torch.randn(n, n),  # (n, n)
        "x": torch.randn(n),  # (n)
    }
