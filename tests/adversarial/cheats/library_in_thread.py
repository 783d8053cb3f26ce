"""Production mode: the library works in another thread."""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


POOL = ThreadPoolExecutor(1)


class Model(nn.Module):
    def forward(self, x, scale):
        return POOL.submit(right, x, scale).result()
