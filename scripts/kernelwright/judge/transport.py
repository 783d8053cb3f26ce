"""What differs between devices, in one place: memory that processes share, the kernel's process, and its clock.

`Transport` is the CPU's; `cuda.transport` has the GPU's. Both are used by the service, the oracle and the kernel's process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kernelwright.judge.arena import Arena


class Transport:
    """The CPU: anonymous files as memory, one per handover."""

    name = "cpu"
    spreads_threads = True  # kernels run on cores, whose threads get places of their own while they are timed
    keeps_spares = False  # a fork is ready at once

    def settle(self) -> None:
        """What this process wrote into shared memory is there before another process runs."""

    def giving(self, size: int) -> Arena:
        """The oracle's side: memory for the service to read and write."""
        return Arena(size)

    def handle(self, arena: Arena) -> tuple[dict[str, Any], list[int]]:
        """What to send so that the service can take an arena."""
        return {"size": arena.size}, [arena.fd]

    def taker(self) -> Taker:
        """The service's side of one oracle's memory."""
        return Taker()

    def reclaim(self, sections: list[int]) -> None:
        """The oracle's side: the service needs these sections no longer."""

    def quiet(self) -> None:
        """Wait for what this process has left to do on the device."""

    def subject(self, *arguments: Any, **named: Any) -> Any:
        from kernelwright.judge.subject import Subject

        return Subject(*arguments, **named)

    def harness(self, config: dict[str, Any]) -> Any:
        from kernelwright.judge.child import Harness

        return Harness(config)

    def child_config(self) -> dict[str, Any]:
        """What a kernel's process needs to know of the device."""
        return {"device": self.name}

    def facts(self) -> dict[str, Any]:
        """Provenance: `device` and `driver`."""
        from kernelwright.judge.devices import cpu_name

        return {"device": cpu_name(), "driver": None}

    def condition(self) -> str | None:
        """Clocks, temperature and power now, in words; None where nothing tells them."""
        return None


class Taker:
    """Arenas that one oracle hands over. `released` are sections whose memory nobody here uses any more."""

    def take(self, reply: dict[str, Any], fds: list[int]) -> Arena:
        return Arena(reply["size"], fds[0])

    def released(self) -> list[int]:
        return []


@cache
def of(name: str) -> Transport:
    """The transport of a device as torch names it: cpu or cuda."""
    return makers()[name]()


def makers() -> dict[str, Callable[[], Transport]]:
    def cuda() -> Transport:
        from kernelwright.judge.cuda.transport import CudaTransport

        return CudaTransport()

    return {"cpu": Transport, "cuda": cuda}
