"""Writes where nothing is: the context is lost for good."""

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


@triton.jit
def wild_kernel(out):
    tl.store(out + (1 << 40) + tl.program_id(0).to(tl.int64), 1.0)


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, weight):
        out = torch.empty_like(x)
        wild_kernel[(1,)](out)
        return out
