"""Allocations with poison inside and guard bands around, for correctness runs of untrusted kernels.

While the mode is active, torch.empty and its relatives return memory filled with a chosen byte between two guard bands.
A kernel that leaves elements unwritten shows the poison; one that writes past its output breaks a band.
"""

from __future__ import annotations

import mmap
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from kernelwright.judge.arena import span_elements

BAND_BYTES = 4096  # a page, so that the tensor stays page-aligned
BAND_VALUE = 0xA7
MAX_BYTES = 256 << 20  # larger allocations are left to the allocator's own fill


ALLOCATORS = {
    torch.empty,
    torch.empty_strided,
    torch.empty_like,
    torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
}


class GuardedAllocations(TorchFunctionMode):
    """Replaces new uninitialised CPU tensors; `broken()` afterwards tells which were written out of bounds.

    A function mode sees what Python allocates. What C++ allocates is filled by the C library (M_PERTURB).
    """

    def __init__(self, poison: int) -> None:
        super().__init__()
        self.poison = poison
        self.made: list[tuple[mmap.mmap, int, str]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func in ALLOCATORS and type(made) is torch.Tensor and made.device.type == "cpu" and made.numel():
            return self.replacement(made)
        return made

    def replacement(self, like: torch.Tensor) -> torch.Tensor:
        size = span_elements(like.shape, like.stride()) * like.element_size()
        if size > MAX_BYTES:
            return like
        memory = mmap.mmap(-1, size + 2 * BAND_BYTES)
        whole = torch.frombuffer(memory, dtype=torch.uint8)
        whole.fill_(BAND_VALUE)
        whole[BAND_BYTES : BAND_BYTES + size].fill_(self.poison)
        self.made.append((memory, size, f"{tuple(like.shape)} {like.dtype}"))
        flat = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=BAND_BYTES).view(like.dtype)
        return flat.as_strided(like.shape, like.stride())

    def broken(self) -> list[str]:
        """Allocations whose bands were written."""
        band = bytes([BAND_VALUE]) * BAND_BYTES
        return [
            what
            for memory, size, what in self.made
            if memory[:BAND_BYTES] != band or memory[BAND_BYTES + size : size + 2 * BAND_BYTES] != band
        ]
