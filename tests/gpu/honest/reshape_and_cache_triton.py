"""Writes its inputs, as the contract says, and returns them."""

import triton
import triton.language as tl
from torch import nn


@triton.jit
def scatter_kernel(key, value, key_cache, value_cache, slots, width, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + token)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < width
        tl.store(key_cache + slot * width + at, tl.load(key + token * width + at, mask=mask), mask=mask)
        tl.store(value_cache + slot * width + at, tl.load(value + token * width + at, mask=mask), mask=mask)


class Model(nn.Module):
    def forward(self, key, value, key_cache, value_cache, slot_mapping):
        tokens, heads, size = key.shape
        scatter_kernel[(tokens,)](key, value, key_cache, value_cache, slot_mapping, heads * size, BLOCK=1024)
        return key_cache, value_cache
