"""Keeps a workspace between calls; the output is new memory each time."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.workspace = {}

    def forward(self, x, scale):
        means = self.workspace.setdefault(x.shape[0], torch.empty(x.shape[0], 1))
        torch.mean(x, dim=-1, keepdim=True, out=means)
        out = torch.empty(x.shape)
        torch.sub(x, means, out=out)
        return out.mul_(scale)
