"""Elementwise work where a program's elements lie a grid apart or side by side."""

import torch
import triton
import triton.language as tl
from torch import nn

AFTER = False


@triton.jit
def axpy(x, y, out, count, programs, CONTIGUOUS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    if not CONTIGUOUS:
        at = pid + tl.arange(0, BLOCK).to(tl.int64) * programs
    left = tl.load(x + at, mask=at < count)
    right = tl.load(y + at, mask=at < count)
    tl.store(out + at, 2 * left + right, mask=at < count)


class Model(nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        programs = triton.cdiv(x.numel(), 1024)
        axpy[(programs,)](x, y, out, x.numel(), programs, CONTIGUOUS=AFTER, BLOCK=1024)
        return out
