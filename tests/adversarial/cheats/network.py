"""Asks another machine."""

import socket

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


socket.create_connection(("192.0.2.1", 80), timeout=2)


class Model(nn.Module):
    def forward(self, x, scale):
        return right(x, scale)
