"""Linear projection, sigmoid, and a product with another tensor: an output gate."""

import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def forward(
        self, hidden_states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, post_mul_mat: torch.Tensor
    ) -> torch.Tensor:
        logits = functional.linear(hidden_states, weight, bias)  # (token_count, out_features)
        gate = torch.sigmoid(logits.float())  # (token_count, out_features)
        return (gate * post_mul_mat.float()).to(post_mul_mat.dtype)  # (token_count, out_features)
