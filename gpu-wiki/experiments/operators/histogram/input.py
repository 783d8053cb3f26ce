"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(count: int, bins: int) -> dict[str, torch.Tensor]:
    values = (bins * torch.rand(count) ** 4).to(torch.int32).clamp_max(bins - 1)  # (count,), small values more often
    values[0] = bins - 1
    return {"values": values}
