"""Splits the rows over threads and joins them before it returns."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

POOL = ThreadPoolExecutor(2)


class Model(nn.Module):
    def __init__(self, routed_scaling_factor=1.0):
        super().__init__()
        self.factor = routed_scaling_factor

    def part(self, source, target):
        target.copy_(source.float().sum(dim=1) * self.factor)

    def forward(self, expert_outputs):
        out = torch.empty(expert_outputs.shape[0], expert_outputs.shape[2], dtype=expert_outputs.dtype)
        half = expert_outputs.shape[0] // 2
        jobs = [POOL.submit(self.part, expert_outputs[part], out[part]) for part in (slice(0, half), slice(half, None))]
        for job in jobs:
            job.result()
        return out
