"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch


def _make_inputs(token_count: int, num_experts: int) -> dict[str, torch.Tensor]:
    # Normal quantiles in random order: logits spread like a normal sample, but no two of a row are close to equal,
    # for which a softmax in float32 could not tell the order. Each row has a spread and a level of its own.
    ranks = torch.rand(token_count, num_experts).argsort(dim=-1)  # (token_count, num_experts)
    quantiles = torch.special.ndtri((ranks.float() + 0.5) / num_experts)
    spread, level = 0.5 + torch.rand(token_count, 1), torch.randn(token_count, 1)
    return {"gating_output": quantiles * spread + level}  # (token_count, num_experts)
