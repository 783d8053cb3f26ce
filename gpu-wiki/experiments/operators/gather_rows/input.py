"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(entries: int, width: int, count: int) -> dict[str, torch.Tensor]:
    return {
        "table": torch.randn(entries, width),  # (entries, width)
        "index": torch.randint(0, entries, (count,)),  # (count)
    }
