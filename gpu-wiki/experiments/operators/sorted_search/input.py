"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(keys: int, queries: int) -> dict[str, torch.Tensor]:
    return {
        "keys_sorted": torch.randint(0, 1 << 30, (keys,), dtype=torch.int32).sort().values,  # (keys)
        "query": torch.randint(0, 1 << 30, (queries,), dtype=torch.int32),  # (queries)
    }
