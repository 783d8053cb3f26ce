"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(token_count: int, hidden_size: int, out_features: int) -> dict[str, torch.Tensor]:
    weight = torch.randn(out_features, hidden_size, dtype=torch.bfloat16) * hidden_size**-0.5  # logits near N(0, 1)
    return {
        "hidden_states": torch.randn(token_count, hidden_size, dtype=torch.bfloat16),  # (token_count, hidden_size)
        "weight": weight,  # (out_features, hidden_size)
        "bias": torch.randn(out_features, dtype=torch.bfloat16),  # (out_features,)
        "post_mul_mat": torch.randn(token_count, out_features, dtype=torch.bfloat16),  # (token_count, out_features)
    }
