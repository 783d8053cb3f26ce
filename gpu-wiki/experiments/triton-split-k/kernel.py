"""A product with few results and a long inner dimension, by one program per tile or split along the inner dimension."""

import torch
import triton
import triton.language as tl
from torch import nn

AFTER = False


@triton.jit
def part(a, b, parts, m, n, k, length, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    p = tl.arange(0, K)
    begin = tl.program_id(2) * length
    total = tl.zeros([M, N], tl.float32)
    for start in range(begin, min(begin + length, k), K):
        left = tl.load(
            a + i[:, None] * k + start + p[None, :], mask=(i[:, None] < m) & (start + p[None, :] < k), other=0.0
        )
        right = tl.load(
            b + (start + p[:, None]) * n + j[None, :], mask=(start + p[:, None] < k) & (j[None, :] < n), other=0.0
        )
        total = tl.dot(left, right, total)
    inside = (i[:, None] < m) & (j[None, :] < n)
    tl.store(parts + tl.program_id(2) * m * n + i[:, None] * n + j[None, :], total, mask=inside)


@triton.jit
def add(parts, out, count, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for split in range(SPLITS):
        total += tl.load(parts + split * count + at, mask=at < count, other=0.0)
    tl.store(out + at, total.to(out.dtype.element_ty), mask=at < count)


class Model(nn.Module):
    def forward(self, a, b):
        m, k = a.shape
        n = b.shape[1]
        splits = 16 if AFTER else 1
        length = triton.cdiv(triton.cdiv(k, splits), 64) * 64
        parts = torch.empty(splits, m, n, dtype=torch.float32, device=a.device)
        out = torch.empty(m, n, dtype=a.dtype, device=a.device)
        part[(triton.cdiv(m, 16), triton.cdiv(n, 64), splits)](
            a, b, parts, m, n, k, length, M=16, N=64, K=64, num_warps=4, num_stages=3
        )
        add[(triton.cdiv(m * n, 1024),)](parts, out, m * n, SPLITS=splits, BLOCK=1024)
        return out
