"""Has an error in its C++."""

import torch
from torch import nn


def right(x, scale):
    return (x - x.mean(-1, keepdim=True)) * scale


from torch.utils.cpp_extension import load_inline

load_inline(name="broken", cpp_sources=["int centred( {"], is_python_module=False, no_implicit_headers=True)


class Model(nn.Module):
    def forward(self, x, scale):
        return right(x, scale)
