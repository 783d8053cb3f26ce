"""Shared memory for tensors: sealed-off spans with guard bands, described by plain JSON.

An arena is an anonymous file (memfd). Whoever gets its descriptor can map it; nobody can find it by a name.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import Any

import torch

GUARD_BYTES = 256
ALIGN_BYTES = 64

Spec = dict[str, Any]  # name, dtype, shape, stride, offset (bytes), span (bytes); or name, scalar


class Arena:
    """One mapped memfd. `bytes` is all of it as uint8; views of tensors share its memory."""

    def __init__(self, size: int, fd: int | None = None) -> None:
        self.size = max(size, ALIGN_BYTES)
        if fd is None:
            fd = os.memfd_create("kernelwright", os.MFD_CLOEXEC)
            os.ftruncate(fd, self.size)
        self.fd = fd
        self.map = mmap.mmap(fd, self.size)
        self.bytes = torch.frombuffer(self.map, dtype=torch.uint8)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0:
            self.close()

    def view(self, spec: Spec) -> torch.Tensor:
        """The tensor of `spec`, with its own storage that starts at its first element."""
        dtype = getattr(torch, spec["dtype"])
        if not spec["span"]:
            return torch.empty(spec["shape"], dtype=dtype)
        flat = torch.frombuffer(self.map, dtype=torch.uint8, count=spec["span"], offset=spec["offset"]).view(dtype)
        return flat.as_strided(spec["shape"], spec["stride"])

    def values(self, specs: list[Spec]) -> dict[str, Any]:
        """Name -> tensor view or scalar."""
        return {spec["name"]: spec["scalar"] if "scalar" in spec else self.view(spec) for spec in specs}


def span_elements(shape: tuple[int, ...] | list[int], stride: tuple[int, ...] | list[int]) -> int:
    """Elements between the first and the last one in memory, both included."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def plan(values: Mapping[str, Any], start: int = 0) -> tuple[list[Spec], int]:
    """Places for the tensors of `values` from byte `start`, guard bands around each; and the first byte after them.

    Raises TypeError for a value that is neither a dense tensor nor a plain scalar.
    """
    specs: list[Spec] = []
    cursor = start
    for name, value in values.items():
        if not isinstance(value, torch.Tensor):
            specs.append({"name": name, "scalar": plain(name, value)})
            continue
        if value.layout is not torch.strided:
            raise TypeError(f"{name}: a {value.layout} tensor cannot be passed, only dense ones")
        offset = -(-(cursor + GUARD_BYTES) // ALIGN_BYTES) * ALIGN_BYTES
        span = span_elements(value.shape, value.stride()) * value.element_size()
        specs.append(
            {
                "name": name,
                "dtype": dtype_name(value.dtype),
                "shape": list(value.shape),
                "stride": list(value.stride()),
                "offset": offset,
                "span": span,
            }
        )
        cursor = offset + span + GUARD_BYTES
    return specs, cursor


def plain(name: str, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [plain(name, item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name}: a {type(value).__name__} cannot be passed, only tensors and plain scalars")


def store(arena: Arena, specs: list[Spec], values: Mapping[str, Any]) -> None:
    """Copy tensors into their places, gaps between strided elements included."""
    for spec in specs:
        if spec.get("span"):
            flat = spanned(values[spec["name"]].detach())
            arena.bytes[spec["offset"] : spec["offset"] + spec["span"]].copy_(flat.view(torch.uint8))


def spanned(tensor: torch.Tensor) -> torch.Tensor:
    """The 1-D stretch of memory a strided tensor lies in, as its own dtype."""
    return tensor.as_strided((span_elements(tensor.shape, tensor.stride()),), (1,), tensor.storage_offset())


def clone(value: Any) -> Any:
    """A copy with the same strides in memory of its own; scalars as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.numel() == 0:
        return value.detach().clone()
    return spanned(value.detach()).clone().as_strided(value.shape, value.stride())


def paint_guards(arena: Arena, specs: list[Spec], tile: torch.Tensor) -> None:
    """Fill the bands before and after each tensor with `tile` (GUARD_BYTES of uint8 that nobody else knows)."""
    for spec in specs:
        if "scalar" in spec:
            continue
        start, end = spec["offset"], spec["offset"] + spec["span"]
        arena.bytes[start - GUARD_BYTES : start].copy_(tile)
        arena.bytes[end : end + GUARD_BYTES].copy_(tile[: arena.size - end])
