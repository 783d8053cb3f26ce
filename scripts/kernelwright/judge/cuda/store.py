"""Sections of one large device allocation, handed from the oracle to the service: creating one for each costs 3 ms."""

from __future__ import annotations

import weakref
from typing import Any

from kernelwright.judge.arena import Arena, Spec
from kernelwright.judge.cuda.memory import CudaArena, tensor_at, view_at
from kernelwright.judge.transport import Taker

ALIGN = 512


class Token:
    """Lives as long as any tensor of a section does."""


class Section(Arena):
    """`size` bytes of a region from byte `offset`."""

    def __init__(self, region: CudaArena, offset: int, size: int) -> None:
        self.fd = -1
        self.region = region
        self.offset, self.size = offset, max(size, 64)
        self.token = Token()
        self.owner = (region.mapping, self.token)
        self.bytes = tensor_at(region.address + offset, self.size, self.owner)

    def view(self, spec: Spec) -> Any:
        return view_at(self.region.address + self.offset, spec, self.owner)


class FreeList:
    """Places in [0, size): first fit, neighbours merged."""

    def __init__(self, size: int) -> None:
        self.free = {0: size}
        self.taken: dict[int, int] = {}

    def take(self, size: int) -> int:
        """Start of a place. Raises MemoryError."""
        size = -(-max(size, 1) // ALIGN) * ALIGN
        for start in sorted(self.free):
            length = self.free[start]
            if length >= size:
                del self.free[start]
                if length > size:
                    self.free[start + size] = length - size
                self.taken[start] = size
                return start
        raise MemoryError(f"{size} bytes of device memory for the judge's own tensors cannot be had")

    def give_back(self, start: int) -> None:
        length = self.taken.pop(start, 0)
        if not length:
            return
        following = self.free.pop(start + length, 0)
        length += following
        before = next((at for at, size in self.free.items() if at + size == start), None)
        if before is None:
            self.free[start] = length
        else:
            self.free[before] += length


class Store:
    """The oracle's side: hands out sections of its region."""

    def __init__(self, size: int) -> None:
        self.region = CudaArena(size)
        self.places = FreeList(size)
        self.told = False

    def section(self, size: int) -> Section:
        return Section(self.region, self.places.take(size), size)

    def handle(self, section: Section) -> tuple[dict[str, Any], list[int]]:
        """The region's descriptor goes along the first time."""
        fds = [] if self.told else [self.region.fd]
        self.told = True
        return {"size": section.size, "at": section.offset, "region": self.region.size}, fds


class StoreTaker(Taker):
    """The service's side: the same sections, and which of them it has let go."""

    def __init__(self) -> None:
        self.region: CudaArena | None = None
        self.gone: list[int] = []

    def take(self, reply: dict[str, Any], fds: list[int]) -> Arena:
        if fds:
            self.region = CudaArena(reply["region"], fds[0])
        assert self.region is not None
        section = Section(self.region, reply["at"], reply["size"])
        weakref.finalize(section.token, self.gone.append, reply["at"])
        return section

    def released(self) -> list[int]:
        found = list(self.gone)
        del self.gone[: len(found)]
        return found
