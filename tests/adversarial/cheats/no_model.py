"""Defines no Model."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


def run(x, scale):
    return right(x, scale)
