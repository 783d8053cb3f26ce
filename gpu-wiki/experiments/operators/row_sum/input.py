"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(rows: int, columns: int) -> dict[str, torch.Tensor]:
    return {
        "x": torch.randn(rows, columns),  # (rows, columns)
    }
