"""Starts a process in a timed batch that ends itself before the timing does."""

import os
import time

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x, scale):
        self.calls += 1
        if self.calls == 60 and os.fork() == 0:
            time.sleep(0.3)
            os._exit(0)
        return right(x, scale)
