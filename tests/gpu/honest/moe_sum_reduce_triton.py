"""A tile of columns per program, experts in a loop."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x, out, experts, hidden, factor, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < hidden
    total = tl.zeros((BLOCK,), tl.float32)
    for expert in range(experts):
        total += tl.load(x + (token * experts + expert) * hidden + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + token * hidden + at, (total * factor).to(tl.bfloat16), mask=mask)


class Model(nn.Module):
    def __init__(self, routed_scaling_factor=1.0):
        super().__init__()
        self.factor = routed_scaling_factor

    def forward(self, expert_outputs):
        tokens, experts, hidden = expert_outputs.shape
        out = torch.empty(tokens, hidden, dtype=expert_outputs.dtype, device=expert_outputs.device)
        sum_kernel[(tokens, triton.cdiv(hidden, 512))](expert_outputs, out, experts, hidden, self.factor, BLOCK=512)
        return out
