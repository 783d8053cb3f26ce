"""Two outputs, returned by name."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def fused_kernel(x, residual, weight, out, total, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row + at, mask=mask, other=0.0).to(tl.float32)
    values += tl.load(residual + row + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(total + row + at, values.to(tl.bfloat16), mask=mask)
    factor = tl.rsqrt(tl.sum(values * values) / columns + eps)
    scale = tl.load(weight + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row + at, (values * factor * scale).to(tl.bfloat16), mask=mask)


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, residual, weight):
        out, total = torch.empty_like(x), torch.empty_like(x)
        rows, columns = x.shape
        block = triton.next_power_of_2(columns)
        fused_kernel[(rows,)](x, residual, weight, out, total, columns, self.eps, BLOCK=block)
        return {"residual": total, "out": out}
