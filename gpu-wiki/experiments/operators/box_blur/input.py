"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(height: int, width: int) -> dict[str, torch.Tensor]:
    return {
        "x": torch.randn(height, width),  # (height, width)
    }
