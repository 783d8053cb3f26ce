"""Another summation order: the mean as a product with a vector of ones."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scale):
        ones = torch.full((x.shape[1], 1), 1.0 / x.shape[1])
        return (x - x @ ones) * scale
