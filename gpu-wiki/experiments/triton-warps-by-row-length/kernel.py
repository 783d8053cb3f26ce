"""RMS norm of long rows by one warp or by a number of warps that fits the row."""

import torch
import triton
import triton.language as tl
from torch import nn

AFTER = False


@triton.jit
def norm(x, weight, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row + at, mask=at < columns, other=0.0).to(tl.float32)
    w = tl.load(weight + at, mask=at < columns, other=0.0).to(tl.float32)
    factor = 1 / tl.sqrt(tl.sum(v * v) / columns + eps)
    tl.store(out + row + at, (v * factor * w).to(out.dtype.element_ty), mask=at < columns)


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, weight):
        out = torch.empty_like(x)
        rows, columns = x.shape
        block = triton.next_power_of_2(columns)
        warps = min(16, max(1, block // 512)) if AFTER else 1
        norm[(rows,)](x, weight, out, columns, self.eps, BLOCK=block, num_warps=warps)
        return out
