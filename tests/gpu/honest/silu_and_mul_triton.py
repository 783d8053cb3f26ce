"""Flat over all elements, a block size that divides nothing evenly."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def silu_kernel(x, out, total, half, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < total
    place = at // half * 2 * half + at % half
    gate = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(x + place + half, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + at, (gate * tl.sigmoid(gate) * up).to(tl.bfloat16), mask=mask)


class Model(nn.Module):
    def forward(self, x):
        half = x.shape[-1] // 2
        out = torch.empty((*x.shape[:-1], half), dtype=x.dtype, device=x.device)
        silu_kernel[(triton.cdiv(out.numel(), 1024),)](x, out, out.numel(), half, BLOCK=1024)
        return out
