"""Asks for more memory than there is."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rms_norm_kernel(x, weight, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row + at, mask=mask, other=0.0).to(tl.float32)
    factor = tl.rsqrt(tl.sum(values * values) / columns + eps)
    scale = tl.load(weight + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row + at, (values * factor * scale).to(tl.bfloat16), mask=mask)


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()

    def forward(self, x, weight):
        torch.empty(1 << 40, dtype=torch.uint8, device=x.device)
        return torch.empty_like(x)
