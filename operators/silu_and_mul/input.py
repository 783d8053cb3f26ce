"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(shape: list[int]) -> dict[str, torch.Tensor]:
    return {"x": torch.randn(shape, dtype=torch.bfloat16)}  # (rows, width); the gate is the first half
