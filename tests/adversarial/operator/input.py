"""`padding` columns lie between the rows of x, so that x is not contiguous."""

import torch


def _make_inputs(rows: int, columns: int, padding: int = 0) -> dict[str, torch.Tensor]:
    x = torch.randn(rows, columns + padding)[:, :columns]  # (rows, columns)
    return {"x": x, "scale": 0.5 + torch.rand(columns)}  # (columns,)
