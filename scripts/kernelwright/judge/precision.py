"""Run a reference in float64: its own casts to narrower floating types are redirected, so that it rounds nowhere.

Casts to fp8 and integers stay: there the rounding is what the operator means.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

NARROW = (torch.float16, torch.bfloat16, torch.float32)
CASTS = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)


class Promote(TorchFunctionMode):
    """Every floating dtype named in a call becomes float64."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in CASTS:
            return args[0].to(torch.float64)
        return func(*map(widened, args), **{key: widened(value) for key, value in (kwargs or {}).items()})


def widened(value: Any) -> Any:
    if value is torch.complex64:
        return torch.complex128
    return torch.float64 if isinstance(value, torch.dtype) and value in NARROW else value


def promoted(inputs: Mapping[str, Any], dtype: torch.dtype) -> dict[str, Any]:
    """Copies of the inputs, floating tensors (not fp8) in `dtype`, strides kept."""
    result = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.dtype is torch.complex64 and dtype is torch.float64:
            result[name] = value.detach().to(torch.complex128)
        elif isinstance(value, torch.Tensor) and value.dtype in NARROW:
            wide = torch.empty_strided(value.shape, value.stride(), dtype=dtype, device=value.device)
            result[name] = wide.copy_(value)
        else:
            result[name] = value.detach().clone() if isinstance(value, torch.Tensor) else value
    return result


@contextlib.contextmanager
def in_float64() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with Promote():
            yield
    finally:
        torch.set_default_dtype(before)
