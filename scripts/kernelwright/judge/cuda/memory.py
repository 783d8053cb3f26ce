"""Device memory shared between processes, with the interface of arena.Arena: a file descriptor is the key to it."""

from __future__ import annotations

import contextlib
import ctypes
import os
from functools import cache
from typing import Any

import torch

from kernelwright.judge.arena import Arena, Spec
from kernelwright.judge.cuda import driver

DEVICE = 0


class Span:
    """`size` bytes of device memory as torch.as_tensor takes them; keeps `owner` alive with the tensor."""

    def __init__(self, address: int, size: int, owner: Any) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 2,
        }


def tensor_at(address: int, size: int, owner: Any) -> torch.Tensor:
    """uint8 tensor of shape (size,) over device memory that somebody else owns."""
    return torch.as_tensor(Span(address, size, owner), device="cuda")


def properties() -> driver.Properties:
    made = driver.Properties()
    made.type, made.handles = 1, driver.FD_HANDLE  # pinned device memory, exported as a file descriptor
    made.location.type, made.location.id = 1, DEVICE
    return made


@cache
def granularity() -> int:
    """Bytes that a mapping is a multiple of."""
    found = ctypes.c_size_t()
    driver.call("cuMemGetAllocationGranularity", ctypes.byref(found), ctypes.byref(properties()), 0)
    return found.value


class Mapping:
    """One allocation mapped into this process: created, or imported from a descriptor."""

    def __init__(self, size: int, fd: int | None) -> None:
        torch.cuda.init()
        torch.cuda.current_stream().synchronize()  # makes torch's context current in this thread
        step = granularity()
        self.size = -(-max(size, 1) // step) * step
        self.handle = ctypes.c_ulonglong()
        if fd is None:
            driver.call("cuMemCreate", ctypes.byref(self.handle), self.size, ctypes.byref(properties()), 0)
        else:
            driver.call(
                "cuMemImportFromShareableHandle", ctypes.byref(self.handle), ctypes.c_void_p(fd), driver.FD_HANDLE
            )
        place = ctypes.c_uint64()
        driver.call("cuMemAddressReserve", ctypes.byref(place), self.size, 0, 0, 0)
        self.address: int = place.value
        driver.call("cuMemMap", self.address, self.size, 0, self.handle, 0)
        access = driver.Access(driver.Location(1, DEVICE), driver.READ_WRITE)
        driver.call("cuMemSetAccess", self.address, self.size, ctypes.byref(access), 1)

    def export(self) -> int:
        """A file descriptor of this memory."""
        fd = ctypes.c_int(-1)
        driver.call("cuMemExportToShareableHandle", ctypes.byref(fd), self.handle, driver.FD_HANDLE, 0)
        return fd.value

    def __del__(self) -> None:
        address, self.address = getattr(self, "address", 0), 0
        if not address:
            return
        with contextlib.suppress(Exception):  # also at the end of the interpreter
            driver.call("cuCtxSynchronize")
            driver.call("cuMemUnmap", address, self.size)
            driver.call("cuMemRelease", self.handle)
            driver.call("cuMemAddressFree", address, self.size)


class CudaArena(Arena):
    """An arena in device memory. Tensors of it stay valid as long as they live."""

    def __init__(self, size: int, fd: int | None = None) -> None:
        self.size = max(size, 64)
        self.mapping = Mapping(self.size, fd)
        self.address = self.mapping.address
        self.fd = self.mapping.export() if fd is None else fd
        self.bytes = tensor_at(self.address, self.size, self.mapping)

    def view(self, spec: Spec) -> torch.Tensor:
        return view_at(self.address, spec, self.mapping)


def view_at(base: int, spec: Spec, owner: Any) -> torch.Tensor:
    """The tensor of `spec` in memory that starts at `base`, with its own storage."""
    dtype = getattr(torch, spec["dtype"])
    if not spec["span"]:
        return torch.empty(spec["shape"], dtype=dtype, device="cuda")
    flat = tensor_at(base + spec["offset"], spec["span"], owner).view(dtype)
    return flat.as_strided(spec["shape"], spec["stride"])


def close_fd(fd: int) -> None:
    with contextlib.suppress(OSError):
        os.close(fd)
