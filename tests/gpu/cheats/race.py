"""Programs add to the same elements without atomics."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def racing_kernel(x, out, experts, hidden, factor, BLOCK: tl.constexpr):
    token = tl.program_id(1).to(tl.int64)
    at = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    mask = at < hidden
    part = tl.load(x + (token * experts + tl.program_id(0)) * hidden + at, mask=mask, other=0.0).to(tl.float32)
    total = tl.load(out + token * hidden + at, mask=mask, other=0.0)
    tl.store(out + token * hidden + at, total + part * factor, mask=mask)


class Model(nn.Module):
    def __init__(self, routed_scaling_factor=1.0):
        super().__init__()
        self.factor = routed_scaling_factor

    def forward(self, expert_outputs):
        tokens, experts, hidden = expert_outputs.shape
        out = torch.zeros(tokens, hidden, device=expert_outputs.device)
        grid = (experts, tokens, triton.cdiv(hidden, 512))
        racing_kernel[grid](expert_outputs, out, experts, hidden, self.factor, BLOCK=512)
        return out.to(expert_outputs.dtype)
