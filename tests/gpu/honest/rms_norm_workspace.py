"""Two kernels with a workspace that is kept between calls; outputs are new memory."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def factors_kernel(x, factors, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    tl.store(factors + row, tl.rsqrt(tl.sum(values * values) / columns + eps))


@triton.jit
def scale_kernel(x, weight, factors, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * columns + at, mask=mask).to(tl.float32) * tl.load(factors + row)
    scale = tl.load(weight + at, mask=mask).to(tl.float32)
    tl.store(out + row * columns + at, (values * scale).to(tl.bfloat16), mask=mask)


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.factors = torch.empty(0)

    def forward(self, x, weight):
        rows, columns = x.shape
        if self.factors.numel() < rows or not self.factors.is_cuda:
            self.factors = torch.empty(rows, device=x.device)
        out = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        factors_kernel[(rows,)](x, self.factors, columns, self.eps, BLOCK=block)
        scale_kernel[(rows,)](x, weight, self.factors, out, columns, BLOCK=block)
        return out
