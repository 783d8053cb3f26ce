"""Eight-bit output and float32 scales."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def quant_kernel(x, quantized, scales, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    group = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    mask = at < SIZE
    values = tl.load(x + group * SIZE + at, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(values)), 1e-10) / 448.0
    tl.store(scales + group, scale)
    scaled = tl.minimum(tl.maximum(values / scale, -448.0), 448.0)
    tl.store(quantized + group * SIZE + at, scaled.to(tl.float8e4nv), mask=mask)


class Model(nn.Module):
    def __init__(self, group_size):
        super().__init__()
        self.size = group_size

    def forward(self, x):
        tokens, hidden = x.shape
        quantized = torch.empty(x.shape, dtype=torch.float8_e4m3fn, device=x.device)
        scales = torch.empty(tokens, hidden // self.size, device=x.device)
        block = triton.next_power_of_2(self.size)
        quant_kernel[(scales.numel(),)](x, quantized, scales, SIZE=self.size, BLOCK=block)
        return quantized, scales
