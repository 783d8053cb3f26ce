"""Attention of one new token per sequence over its keys and values in a paged cache."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(
        self,
        query: torch.Tensor,
        k_cache: torch.Tensor,
        v_cache: torch.Tensor,
        block_tables: torch.Tensor,
        seq_lens: torch.Tensor,
    ) -> torch.Tensor:
        query_heads, head_size = query.shape[1:]
        group = query_heads // k_cache.shape[2]  # query heads that share a key-value head
        blocks = block_tables.long()  # (num_seqs, max_blocks)
        keys = k_cache[blocks].flatten(1, 2).float()  # (num_seqs, max_blocks * block_size, kv_heads, head_size)
        values = v_cache[blocks].flatten(1, 2).float()
        keys, values = (part.repeat_interleave(group, dim=2) for part in (keys, values))
        scores = torch.einsum("shd,slhd->shl", query.float(), keys) * head_size**-0.5  # (num_seqs, query_heads, length)
        positions = torch.arange(keys.shape[1], device=query.device)
        beyond = positions[None, :] >= seq_lens[:, None]  # (num_seqs, length)
        scores = scores.masked_fill(beyond[:, None, :], torch.finfo(scores.dtype).min)
        out = torch.einsum("shl,slhd->shd", torch.softmax(scores, dim=-1), values)
        return out.to(query.dtype)  # (num_seqs, query_heads, head_size)
