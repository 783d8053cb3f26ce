"""Mean and variance of a row in registers, in two steps."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def layer_norm_kernel(x, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row + at, mask=mask, other=0.0).to(tl.float32)
    centred = tl.where(mask, values - tl.sum(values) / columns, 0.0)
    factor = tl.rsqrt(tl.sum(centred * centred) / columns + eps)
    tl.store(out + row + at, (centred * factor).to(tl.bfloat16), mask=mask)


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        out = torch.empty_like(x)
        columns = x.shape[-1]
        rows = x.numel() // columns
        layer_norm_kernel[(rows,)](x, out, columns, self.eps, BLOCK=triton.next_power_of_2(columns))
        return out
