"""Full (not causal) attention within each sequence of a packed batch."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        cu_seqlens_q: torch.Tensor,
        cu_seqlens_k: torch.Tensor,
    ) -> torch.Tensor:
        out = torch.zeros_like(q)  # (tokens, num_heads, head_dim)
        q_ends, k_ends = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
        for i in range(len(q_ends) - 1):
            rows, columns = slice(q_ends[i], q_ends[i + 1]), slice(k_ends[i], k_ends[i + 1])
            if rows.start == rows.stop or columns.start == columns.stop:
                continue
            queries, keys, values = (part.transpose(0, 1)[None] for part in (q[rows], k[columns], v[columns]))
            # (1, num_heads, length, head_dim) each; softmax(q k^T / sqrt(head_dim)) v without the matrix of scores
            attended = functional.scaled_dot_product_attention(queries, keys, values)
            out[rows] = attended[0].transpose(0, 1)
        return out
