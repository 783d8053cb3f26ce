"""Elementwise work in blocks of 64 or of 2048 elements per program."""

import torch
import triton
import triton.language as tl
from torch import nn

AFTER = False


@triton.jit
def axpy(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + at, mask=at < count)
    right = tl.load(y + at, mask=at < count)
    tl.store(out + at, 2 * left + right, mask=at < count)


class Model(nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        block = 2048 if AFTER else 64
        axpy[(triton.cdiv(x.numel(), block),)](x, y, out, x.numel(), BLOCK=block, num_warps=4)
        return out
