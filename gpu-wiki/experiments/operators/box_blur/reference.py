"""Mean of each 7 by 7 window of an image."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.avg_pool2d(x[None, None], 7, stride=1)[0, 0]  # (height - 6, width - 6)
