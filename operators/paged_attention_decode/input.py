"""Inputs on torch's current default device; the caller sets the device and the seed."""

import torch

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
SPARE_BLOCKS = 3  # blocks of the cache that belong to no sequence


def _make_inputs(
    num_seqs: int,
    ctx_len: int,
    num_query_heads: int,
    num_kv_heads: int,
    head_size: int,
    block_size: int,
    dtype: str,
) -> dict[str, torch.Tensor]:
    per_sequence = -(-ctx_len // block_size)
    blocks = num_seqs * per_sequence + SPARE_BLOCKS
    cache_shape = (blocks, block_size, num_kv_heads, head_size)
    shorter = torch.randint(0, min(block_size, ctx_len), (num_seqs,), dtype=torch.int32)  # ends inside the last block
    return {
        "query": torch.randn(num_seqs, num_query_heads, head_size, dtype=DTYPES[dtype]),
        "k_cache": torch.randn(cache_shape, dtype=DTYPES[dtype]),
        "v_cache": torch.randn(cache_shape, dtype=DTYPES[dtype]),
        "block_tables": torch.randperm(blocks)[: num_seqs * per_sequence].view(num_seqs, per_sequence).int(),
        "seq_lens": ctx_len - shorter,  # (num_seqs,)
    }
