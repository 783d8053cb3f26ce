"""The framework's SiLU."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        half = x.shape[-1] // 2
        return (torch.nn.functional.silu(x[..., :half].float()) * x[..., half:].float()).to(x.dtype)
