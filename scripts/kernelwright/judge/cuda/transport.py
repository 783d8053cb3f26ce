"""The GPU's transport: regions of device memory, and the classes of both sides of a kernel's process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import torch

from kernelwright.errors import InputError
from kernelwright.judge.arena import Arena
from kernelwright.judge.cuda import native, nvml
from kernelwright.judge.cuda.driver import DriverError
from kernelwright.judge.cuda.memory import CudaArena
from kernelwright.judge.cuda.store import Section, Store, StoreTaker
from kernelwright.judge.transport import Transport

SUBJECT_SHARE, ORACLE_SHARE = 12, 10  # one part in so many of the GPU's memory, for each kernel and for each oracle
MAX_REGION_BYTES = 24 << 30
MAX_ORACLE_BYTES = 32 << 30
MAX_IDLE = 3


def total_bytes() -> int:
    return torch.cuda.get_device_properties(0).total_memory


class CudaTransport(Transport):
    """State of one process: the service keeps regions for kernels, an oracle keeps its store."""

    name = "cuda"
    spreads_threads = False
    keeps_spares = True

    def __init__(self) -> None:
        self.idle: list[CudaArena] = []
        self.closing: list[threading.Thread] = []
        self.store: Store | None = None

    def settle(self) -> None:
        torch.cuda.synchronize()

    def giving(self, size: int) -> Arena:
        if self.store is None:
            self.store = Store(min(MAX_ORACLE_BYTES, total_bytes() // ORACLE_SHARE))
        return self.store.section(size)

    def handle(self, arena: Arena) -> tuple[dict[str, Any], list[int]]:
        assert self.store is not None and isinstance(arena, Section)
        return self.store.handle(arena)

    def taker(self) -> StoreTaker:
        return StoreTaker()

    def reclaim(self, sections: list[int]) -> None:
        for start in sections if self.store is not None else ():
            self.store.places.give_back(start)  # type: ignore[union-attr]

    def region(self) -> CudaArena:
        """Memory for one kernel's process: used once before, or new. Raises InputError where the GPU is full."""
        if self.idle:
            return self.idle.pop()
        size = min(MAX_REGION_BYTES, total_bytes() // SUBJECT_SHARE)
        try:
            return CudaArena(size)
        except DriverError as error:
            raise InputError(f"the GPU has no {size} bytes free for a kernel's process ({error})") from None

    def give_back(self, region: CudaArena) -> None:
        """Its process has ended; nothing of what it left is shown to the next."""
        with contextlib.suppress(RuntimeError):
            region.bytes.zero_()
            if len(self.idle) < MAX_IDLE:
                self.idle.append(region)

    def later(self, work: Callable[[], None]) -> None:
        """Do what takes long and nobody waits for: the end of a process with a CUDA context takes tenths of a second."""
        self.closing = [thread for thread in self.closing if thread.is_alive()]
        self.closing.append(threading.Thread(target=work))
        self.closing[-1].start()

    def quiet(self) -> None:
        while self.closing:
            self.closing.pop().join()

    def subject(self, *arguments: Any, **named: Any) -> Any:
        from kernelwright.judge.cuda.subject import CudaSubject

        return CudaSubject(self, *arguments, **named)

    def harness(self, config: dict[str, Any]) -> Any:
        from kernelwright.judge.cuda.harness import CudaHarness

        return CudaHarness(config)

    def child_config(self) -> dict[str, Any]:
        return {"device": self.name, "native": native.path()}

    def facts(self) -> dict[str, Any]:
        return {"device": torch.cuda.get_device_name(0), "driver": nvml.driver_version()}

    def condition(self) -> str | None:
        return nvml.condition()
