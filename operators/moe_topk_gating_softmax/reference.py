"""Route tokens to experts: softmax over all experts, then the largest weights of each token and their expert ids."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, top_k: int) -> None:
        super().__init__()
        self.top_k = top_k

    def forward(self, gating_output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights = torch.softmax(gating_output.float(), dim=-1)  # (token_count, num_experts)
        topk_weights, topk_ids = torch.topk(weights, self.top_k, dim=-1)  # (token_count, top_k), descending
        return topk_weights, topk_ids.to(torch.int32)
