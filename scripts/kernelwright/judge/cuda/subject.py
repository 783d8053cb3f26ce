"""One kernel on the GPU under judgement: its region of device memory, and the clock of its queued calls.

A sample: the child puts its calls on the queue behind a gate in host memory and is stopped. Only then the service
writes the new input values, opens the gate, and notes by its own clock when the GPU reaches the marks before and after
each call. What ran before the gate, or on a stream that nobody joined, has used old values or ends after its mark.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import secrets
import statistics
import time
from typing import Any

import torch

from kernelwright.judge import answers
from kernelwright.judge.arena import Arena, Spec
from kernelwright.judge.cuda import kernels, native
from kernelwright.judge.cuda.harness import CONTROL_BYTES, COUNTER, FLUSH_SHARE, GATE
from kernelwright.judge.cuda.memory import CudaArena, view_at
from kernelwright.judge.faults import Fault
from kernelwright.judge.inputs import Expected, InputSets
from kernelwright.judge.protocol import encode
from kernelwright.judge.subject import Subject
from kernelwright.sandbox import processes

INPUT_SHARE = 3  # one part in so many of a region is for inputs
BAND_BYTES, BAND_VALUE = 512, 0xA7  # as in native.cpp
CALIBRATED_CALLS, CALIBRATIONS = 16, 6
QUEUE_LIMIT_S = 0.4  # for the answer that calls are on the queue
ATTEMPTS = 5
LEAST_NS = 100.0  # an empty call's jitter is of this size: nothing is said to be faster
PATIENCE_NS = 2_000_000_000  # for the marks, beside the calls' own time
BATCH_NS = 1_000_000
LEAST_CALLS, MOST_CALLS = 2, 4  # the first of a batch is not counted
WALL_BATCHES = 3
STAGED_BYTES = 1 << 30
JOIN_SLACK_NS = 2500.0  # of work after the last call's mark; up to 1.1 us was seen after kernels that write much
FLUSH_FACTOR, FLUSH_SLACK_NS = 1.1, 1000.0  # what a flush may take; the rest is time of the calls around it
STRIPE_BYTES, STRIPES = 1 << 16, 4
LATE_S = 0.001  # within which late work shows
METHOD = (
    "the judge's own clock, reading marks that the GPU writes to host memory before and after each call, less the marks "
    "of an empty call; calls queued behind a gate that the judge opens after it has written new input values, the first of each batch not "
    "counted; L2 flushed before each call; contenders interleaved in a random order and its reverse; other streams joined before "
    "the last mark; outputs of secretly chosen calls verified; wall_us is the wall clock around calls launched one "
    "after the other and synchronised once, with the host's part, caches warm"
)


class Part(Arena):
    """The first `size` bytes of a region."""

    def __init__(self, region: CudaArena, size: int) -> None:
        self.fd, self.size, self.region = -1, size, region
        self.bytes = region.bytes[:size]

    def view(self, spec: Spec) -> torch.Tensor:
        return view_at(self.region.address, spec, self.region.mapping)


class CudaSubject(Subject):
    """See Subject. `floor` are nanoseconds of an empty call, a flush and the join, before foreign code was loaded."""

    device_type = "cuda"
    method = METHOD
    queues = True

    def __init__(self, transport: Any, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.transport = transport
        self.region: CudaArena = transport.region()
        self.input_bytes = self.region.size // INPUT_SHARE // 512 * 512
        self.base = 0
        self.floor = (0.0, 0.0, 0.0)
        self.queued = False
        self.call_ns = 0.0
        self.joins: list[float] = []  # of each sample of the present workload
        self.last_span = 0  # bytes of the first output
        self.seen: tuple[torch.Tensor, list[torch.Tensor]] | None = (
            None  # stripes of it at the last mark, and their places
        )
        self.library = native.load(native.path())
        self.control_fd = os.memfd_create("kernelwright-control", os.MFD_CLOEXEC)
        os.ftruncate(self.control_fd, CONTROL_BYTES)
        self.control = mmap.mmap(self.control_fd, CONTROL_BYTES)
        self.page = ctypes.addressof(ctypes.c_char.from_buffer(self.control))
        self.words = memoryview(self.control).cast("I")
        self.stripes = torch.empty(STRIPES * STRIPE_BYTES, dtype=torch.uint8, pin_memory=True)

    def close(self) -> None:
        """Its end begins now; its memory is used again when it has ended."""
        worker = self.worker
        self.sets = self.arena = None
        os.close(self.control_fd)
        processes.kill_now(worker.supervisor)
        worker.closing()

        def finish() -> None:
            worker.close()
            self.transport.give_back(self.region)

        self.transport.later(finish)

    def calibrate(self) -> None:
        """Hand over the memory; then the cost of empty calls on both clocks."""
        cache = torch.cuda.get_device_properties(0).L2_cache_size
        message = {
            "op": "open",
            "size": self.region.size,
            "inputs": self.input_bytes,
            "flush": int(FLUSH_SHARE * cache) // 4096 * 4096,
        }
        reply = self.worker.ask(message, 120, (self.region.fd, self.control_fd))
        self.base = int(reply["base"])
        super().calibrate()
        found = [self._marks(list(range(CALIBRATED_CALLS))) for _ in range(CALIBRATIONS)]
        rows = [item[1] for item in found[1:] if item is not None]
        calls = [value for row in rows for value in gaps(row, 1)]
        flushes = [value for row in rows for value in gaps(row, 2)]
        joins = [row[-1] - row[-2] for row in rows if row[-2]]
        self.floor = (statistics.median(calls), statistics.median(flushes), statistics.median(joins))

    def own_copy(self, size: int) -> tuple[Arena, tuple[int, ...]]:
        if size > self.input_bytes:
            raise Fault("invalid_operator", f"input sets of {size} bytes, room is for {self.input_bytes}")
        return Part(self.region, size), ()

    def handover(self, arena: Arena) -> Arena:
        made = CudaArena(arena.size)
        made.bytes.copy_(arena.bytes)
        return made

    def attach(self, sets: InputSets) -> None:
        super().attach(sets)
        self.joins, self.last_span, self.seen = [], 0, None

    def output(self, pointer: Any, spec: Spec) -> torch.Tensor:
        """A returned tensor, copied out of the region."""
        if not spec["span"]:
            return torch.empty_strided(
                spec["shape"], spec["stride"], dtype=getattr(torch, spec["dtype"]), device="cuda"
            )
        offset = self._offset(pointer, spec["span"], str(spec["name"]).partition(":")[2])
        flat = self.region.bytes[offset : offset + spec["span"]].clone()
        return flat.view(getattr(torch, spec["dtype"])).as_strided(spec["shape"], spec["stride"])

    def _offset(self, pointer: Any, span: int, name: str) -> int:
        if not isinstance(pointer, int) or pointer <= 0:
            raise Fault("wrong_output_type", f"{name}: no tensor was returned", self.worker.log())
        offset = pointer - self.base
        if not 0 <= offset <= self.region.size - span:
            raise Fault(
                "wrong_output_type", f"{name}: lies in memory that torch's allocator did not give", self.worker.log()
            )
        return offset

    def broken(self, reply: dict[str, Any]) -> list[str]:
        """The bands before and after each poisoned allocation, read by the service."""
        made = reply.get("made")
        if not isinstance(made, list) or not made:
            return []
        bands, sizes = [], []
        for address, size in zip(made[::2], made[1::2], strict=False):
            offset = address - self.base if isinstance(address, int) and isinstance(size, int) else -1
            if not BAND_BYTES <= offset <= offset + size <= self.region.size - BAND_BYTES:
                raise Fault("protocol_error", "the kernel's process tells of memory that is not its own")
            for start in (offset - BAND_BYTES, offset + size):
                bands.append(self.region.bytes[start : start + BAND_BYTES])
            sizes.append(size)
        intact = (torch.stack(bands) == BAND_VALUE).all(dim=1).view(-1, 2).all(dim=1).tolist()
        return [f"{size} bytes" for size, good in zip(sizes, intact, strict=True) if not good]

    def calls_for(self, call_ns: float, set_bytes: int) -> int:
        """Few calls: the device's clock needs no long batch, and the cache is flushed before each."""
        self.call_ns = call_ns
        wanted = max(LEAST_CALLS, min(MOST_CALLS, int(BATCH_NS / (call_ns + 30_000))))
        return max(1, min(wanted, STAGED_BYTES // set_bytes))

    def can_queue(self) -> bool:
        """A trial on the probe's first set, once again when the first had something to load."""
        return any(self._marks([0]) is not None for _ in range(2))

    def samples_of(self, calls: int) -> int:
        """The first call of a batch is not counted: the GPU turns to this process just before it."""
        return max(1, calls - 1) if self.queued else 1

    def use_clock(self, queued: bool) -> None:
        self.queued = queued

    def sample(self, chosen: list[int], verify: bool = True) -> tuple[list[float], Any]:
        """One sample per call on the device's clock."""
        if not self.queued:
            return super().sample(chosen, verify)
        for _ in range(ATTEMPTS):
            found = self._marks(chosen)
            if found is None:
                continue
            reply, stamps = found
            calls = timed_calls(stamps, FLUSH_FACTOR * self.floor[1] + FLUSH_SLACK_NS)
            with self.answered():
                pointers, self.output_names = answers.pointers(reply, len(chosen)), answers.names(reply)
            self.seen = None
            if verify:
                self._look_at_last(pointers)
            if not calls:
                continue  # marks that follow each other closely are now and then seen as one
            if stamps[-2]:
                self.joins.append(stamps[-1] - stamps[-2])
            calls += [statistics.fmean(calls)] * (self.samples_of(len(chosen)) - len(calls))  # for those not seen
            return [max(value - self.floor[0], LEAST_NS) / 1000 for value in calls], pointers
        raise Fault("timing_disagreement", "calls that could be queued before could not be now", self.worker.log())

    def _marks(self, chosen: list[int]) -> tuple[dict[str, Any], list[int]] | None:
        """Queue calls, stop the child, write the inputs, open the gate: the answer and the times of the marks in ns.

        None when the calls could not be queued: the gate was opened so that the child could go on.
        """
        self.words[GATE // 4] = self.words[COUNTER // 4] = 0
        message = {"op": "queue", "sets": chosen}
        reply = self.worker.begin(message, QUEUE_LIMIT_S)
        if reply is None:
            self.words[GATE // 4] = 1
            self.worker.finish(message, self.call_timeout_s * len(chosen))
            self.worker.stop()
            return None
        self.worker.stop()
        if self.sets is not None:
            self.restore()
        self.transport.settle()
        marks = 2 * len(chosen) + 1
        stamps = (ctypes.c_int64 * (marks + 1))()
        limit = int(PATIENCE_NS + 3 * len(chosen) * self.call_ns)
        last = self.library.watch(self.page + GATE, self.page + COUNTER, marks, stamps, limit)
        if last < 0:
            raise Fault("timing_disagreement", "marks of the clock were written out of order", self.worker.log())
        if last < marks:  # an error of the GPU says its name now, and a kernel that hangs runs into the limit
            self.worker.ask({"op": "settled"}, self.call_timeout_s)
            self.worker.stop()
            return None
        return reply, list(stamps)

    def wall_us(self, calls: int) -> float | None:
        """Median of a few batches without flush, launched one call after the other."""
        if not self.queued or self.sets is None:
            return None
        count = min(calls, len(self.sets.specs))
        message = encode({"op": "batch", "sets": list(range(count))})
        batches = [self.worker.timed(message, self.call_timeout_s * count)[1] for _ in range(WALL_BATCHES + 1)]
        return statistics.median(self.call_us(elapsed, count) for elapsed in batches[1:])

    def check_clock(self) -> None:
        if not self.queued or len(self.joins) < 2:
            return
        join = statistics.median(self.joins)
        if join > self.floor[2] + JOIN_SLACK_NS:
            raise Fault(
                "timing_disagreement",
                f"work on other streams went on for {(join - self.floor[2]) / 1000:.1f} us after the call's own stream "
                "was done",
            )

    def attribution(self, rows: list[Any]) -> tuple[float | None, dict[str, float]]:
        return kernels.attribution(rows)

    def collect(self, pointers: list[Any], expected: Expected, index: int) -> dict[str, Any]:
        first = next((name for name in expected.outputs if expected.specs[name].get("span")), None)
        self.last_span = expected.specs[first]["span"] if first is not None and first == expected.outputs[0] else 0
        return super().collect(pointers, expected, index)

    def _look_at_last(self, pointers: Any) -> None:
        """Stripes of the last output this instant, by the copy engine, which does not wait for the child's kernels."""
        last = pointers[-1] if isinstance(pointers, list) and pointers else None
        if not self.last_span or not isinstance(last, list) or not last:
            return
        offset, size = self._offset(last[0], self.last_span, "output"), min(STRIPE_BYTES, self.last_span)
        places = [self.last_span - size, *(secrets.randbelow(self.last_span - size + 1) for _ in range(STRIPES - 1))]
        sources = [self.region.bytes[offset + place : offset + place + size] for place in places]
        for index, source in enumerate(sources):
            self.stripes[index * size : (index + 1) * size].copy_(source, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        self.seen = (self.stripes[: STRIPES * size].clone(), sources)

    def check_finished(self) -> None:
        if self.seen is None:
            return
        time.sleep(LATE_S)
        if not torch.equal(self.seen[0], torch.cat(self.seen[1]).cpu()):
            raise Fault(
                "wrong_in_timed_call", "an output was still being written after the last mark", self.worker.log()
            )


def timed_calls(stamps: list[int], flush_ns: float) -> list[float]:
    """Nanoseconds of each call but the first, where there are more; calls whose marks were not seen are left out.

    What a flush took beyond `flush_ns` belongs to the calls around it: one before it left data in the cache that had to
    be written back, or one after it was at work before its mark.
    """
    count = (len(stamps) - 2) // 2
    found: list[float] = []
    for call in range(1 if count > 1 else 0, count):
        ended, start, end = stamps[2 * call], stamps[2 * call + 1], stamps[2 * call + 2]
        if start and end:
            late = max(0.0, start - ended - flush_ns) if call and ended else 0.0
            found.append(end - start + late)
    return found


def gaps(stamps: list[int], first: int) -> list[int]:
    """Nanoseconds from each second mark, beginning with `first`, to the mark after it; marks not seen are left out.

    1: the calls. 2: the flushes between them (the last is the join, and is left out).
    """
    end = len(stamps) - 1 if first == 1 else len(stamps) - 2
    return [stamps[mark + 1] - stamps[mark] for mark in range(first, end, 2) if stamps[mark] and stamps[mark + 1]]
