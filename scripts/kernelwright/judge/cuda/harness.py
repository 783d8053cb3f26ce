"""The GPU's side of a kernel's process: its memory is the service's, and calls can be queued behind a gate.

Functions of the driver that matter are looked up before any foreign code is loaded.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
from collections.abc import Callable
from ctypes import c_uint64, c_void_p
from typing import Any

import torch

from kernelwright.judge.arena import Arena
from kernelwright.judge.child import Harness, facts, names, pointers, resolved
from kernelwright.judge.cuda import driver, native
from kernelwright.judge.cuda.memory import CudaArena, view_at

CONTROL_BYTES = 4096
GATE, COUNTER = 0, 64  # bytes into the control page
FLUSH_SHARE = 1.3  # of the L2 cache, written between calls
MAX_MADE = 4096


class Inputs:
    """The first part of the process's region, where the service writes input sets."""

    def __init__(self, region: CudaArena) -> None:
        self.region = region

    def values(self, specs: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            spec["name"]: spec["scalar"]
            if "scalar" in spec
            else view_at(self.region.address, spec, self.region.mapping)
            for spec in specs
        }


class CudaHarness(Harness):
    """Calls run on torch's default stream, which is also the stream of a launch that names none."""

    with_fds = (*Harness.with_fds, "open")
    plain = (*Harness.plain, "queue", "settled")

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.heap = native.load(config["native"])
        made = torch.cuda.memory.CUDAPluggableAllocator(config["native"], "heap_alloc", "heap_free")
        torch.cuda.memory.change_current_allocator(made)
        self.kept = made

    def warm(self, message: dict[str, Any]) -> dict[str, Any]:
        """A CUDA context, and Triton's compiler started once, before anything is asked that hurries."""
        torch.cuda.init()
        torch.cuda.current_stream().synchronize()
        if message["triton"]:
            from kernelwright.judge.cuda import warm

            warm.launch()
        if message["profiler"]:
            self._recorded(lambda: torch.cuda._sleep(1000))
        return {}

    def open(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Map the region (inputs below `inputs` bytes, the heap above) and the control page."""
        torch.cuda.init()
        torch.cuda.current_stream().synchronize()
        self.region = CudaArena(message["size"], fds[0])
        self.heap.heap_open(
            self.region.address + message["inputs"],
            message["size"] - message["inputs"],
            driver.address_of("cuMemsetD8Async"),
        )
        self.control = mmap.mmap(fds[1], CONTROL_BYTES)
        page = ctypes.addressof(ctypes.c_char.from_buffer(self.control))
        driver.call("cuMemHostRegister_v2", page, CONTROL_BYTES, 2)
        device = c_uint64()
        driver.call("cuMemHostGetDevicePointer_v2", ctypes.byref(device), page, 0)
        self.gate, self.counter = device.value + GATE, device.value + COUNTER
        self.flush = torch.empty(message["flush"], dtype=torch.uint8, device="cuda")
        self._look_up()
        return {"base": self.region.address}

    def _look_up(self) -> None:
        library = driver.library()
        self.synchronize, self.wait, self.write = (
            library.cuStreamSynchronize,
            library.cuStreamWaitValue32_v2,
            library.cuStreamWriteValue32_v2,
        )
        self.memset = library.cuMemsetD32Async
        self.record_all, self.wait_event = library.cuCtxRecordEvent, library.cuStreamWaitEvent
        self.context, self.joined = c_void_p(), c_void_p()
        driver.call("cuCtxGetCurrent", ctypes.byref(self.context))
        driver.call("cuEventCreate", ctypes.byref(self.joined), 2)

    def mapped(self, size: int, fds: list[int]) -> Any:
        return Inputs(self.region)

    def weights_from(self, size: int, fds: list[int]) -> Arena:
        return CudaArena(size, fds[0])

    def settle(self) -> None:
        """Wait for the default stream alone: what a kernel leaves on others is its own fault."""
        code = self.synchronize(driver.DEFAULT_STREAM)
        if code:
            raise RuntimeError(f"CUDA error: {driver.error_name(code)}")

    def settled(self, message: dict[str, Any]) -> dict[str, Any]:
        self.settle()
        return {}

    def prepare(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        reply = super().prepare(message, fds)
        self.settle()
        return reply

    def call(self, message: dict[str, Any]) -> dict[str, Any]:
        """As on the CPU; new memory is poisoned and banded by the heap, and the service looks at the bands."""
        if not message["keep"]:
            self.held = []
        poison = message["poison"]
        self.heap.heap_poison(-1 if poison is None else poison)
        result = resolved(self._invoke(self.sets[message["set"]]))
        self.held.append(result)
        self.settle()
        return {"outputs": facts(result), "made": self._made() if poison is not None else []}

    def _made(self) -> list[int]:
        """Address and bytes of each allocation since the poison was set, one after the other."""
        places = (c_uint64 * (2 * MAX_MADE))()
        count = min(self.heap.heap_made(places, MAX_MADE), MAX_MADE)
        return list(places[: 2 * count])

    def batch(self, message: dict[str, Any]) -> dict[str, Any]:
        reply = super().batch(message)
        self.settle()
        return reply

    def queue(self, message: dict[str, Any]) -> dict[str, Any]:
        """Enqueue calls behind the gate, each between two marks of the counter, the cache flushed before each.

        The last mark but one follows the last call; the last one follows everything the context has to do, on whatever
        stream.
        """
        self.held = []
        self.heap.heap_poison(-1)
        held, function, sets, mark = self.held, self._invoke, self.sets, 0
        address, words = self.flush.data_ptr(), self.flush.numel() // 4
        self.wait(None, self.gate, 1, driver.WAIT_GEQ)
        for index in message["sets"]:
            self.memset(address, mark, words, None)
            self.write(None, self.counter, mark + 1, 0)
            held.append(resolved(function(sets[index])))
            mark += 2
            self.write(None, self.counter, mark, 0)
        self.record_all(self.context, self.joined)
        self.wait_event(None, self.joined, 0)
        code = self.write(None, self.counter, mark + 1, 0)
        if code:
            raise RuntimeError(f"CUDA error: {driver.error_name(code)}")
        return {"pointers": [pointers(result) for result in held], "names": names(held)}

    def profile(self, message: dict[str, Any]) -> dict[str, Any]:
        """Name, device microseconds and number of the GPU's kernels in a few calls, as CUPTI saw them."""
        self._invoke(self.sets[0])
        self.settle()

        def work() -> None:
            for _ in range(message["calls"]):
                self._invoke(self.sets[0])

        rows = self._recorded(work)
        gc.collect()
        return {"rows": rows, "modules": sorted({name.partition(".")[0] for name in sys.modules})}

    def _recorded(self, work: Callable[[], None]) -> list[list[Any]]:
        """Name, device microseconds and number of the GPU's kernels in `work`. CUPTI takes seconds the first time."""
        from torch.profiler import ProfilerActivity
        from torch.profiler import profile as recorder

        with recorder(activities=[ProfilerActivity.CUDA], acc_events=False) as trace:
            work()
            torch.cuda.synchronize()
        rows: dict[str, list[Any]] = {}
        for event in trace.profiler.kineto_results.events():
            if str(event.device_type()).endswith("CUDA"):
                row = rows.setdefault(event.name(), [event.name(), 0.0, 0])
                row[1], row[2] = row[1] + event.duration_ns() / 1000, row[2] + 1
        return list(rows.values())
