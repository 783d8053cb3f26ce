"""Leaves a process behind that lives on between calls."""

import os
import time

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


if os.fork() == 0:
    os.setsid()
    while True:
        time.sleep(1)


class Model(nn.Module):
    def forward(self, x, scale):
        return right(x, scale)
