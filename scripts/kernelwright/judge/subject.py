"""One kernel under judgement: its child process, its copy of the inputs, and the checks of what it returns."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelwright.judge import answers, numerics
from kernelwright.judge.arena import Arena, Spec, span_elements
from kernelwright.judge.faults import Fault
from kernelwright.judge.inputs import MUTATED, Expected, InputSets, OracleClient
from kernelwright.judge.protocol import encode
from kernelwright.judge.tolerance import limits_for
from kernelwright.judge.worker import Worker
from kernelwright.operators.model import Operator
from kernelwright.sandbox import processes

CALIBRATION_CALLS = (1, 128)
CALIBRATION_REPEATS = 15
SAMPLE_NS = 2_000_000  # a sample lasts at least this long, or as long as MAX_CALLS or the memory allow
MAX_CALLS = 256
MAX_STAGED_BYTES = 64 << 20
ONE_CALL = encode({"op": "batch", "sets": [0]})
METHOD = (
    "wall clock of the judge around a batch of calls in the kernel's process, less an empty batch measured there "
    "before the kernel was loaded; new input values and addresses for every sample, written by the judge just before "
    "(warm where they fit the last-level cache); contenders interleaved in a random order and its reverse, in "
    "processes that are stopped in between, each thread on a core of its own; outputs of secretly chosen timed calls "
    "verified"
)


@dataclass
class Subject:
    """A worker that runs one kernel. Its arena is a copy of the judge's: what it writes there harms only itself."""

    device_type = "cpu"
    method = METHOD
    queues = False  # the device has a clock of its own beside the wall clock

    label: str
    worker: Worker
    operator: Operator
    call_timeout_s: float
    compile_timeout_s: float
    sets: InputSets | None = None
    arena: Arena | None = None
    input_spans: list[tuple[int, int, str]] = field(default_factory=list)  # address, bytes, input
    output_names: list[str] | None = None  # of the last sample's outputs where they were returned by name
    pinned: set[int] = field(default_factory=set)  # addresses of outputs that the child keeps alive
    floor_ns: tuple[float, float] = (0.0, 0.0)  # of an empty batch: per batch, per call

    def calibrate(self) -> None:
        """Cost of the harness and the socket, measured before any foreign code is loaded.

        The least of many empty batches: what is taken off a sample must never be more than the harness cost it.
        """
        self.worker.ask({"op": "null_sets", "count": CALIBRATION_CALLS[1]}, 60)
        self.worker.stop()
        least = []
        for calls in CALIBRATION_CALLS:
            message = encode({"op": "batch", "sets": list(range(calls))})
            least.append(min(self.worker.timed(message, 60)[1] for _ in range(CALIBRATION_REPEATS)))
        per_call = max(0.0, (least[1] - least[0]) / (CALIBRATION_CALLS[1] - CALIBRATION_CALLS[0]))
        self.floor_ns = (max(0.0, least[0] - per_call), per_call)

    def call_us(self, elapsed_ns: int, calls: int) -> float:
        """Microseconds per call of a batch, without the harness; at most half of the time is ever taken off."""
        overhead = min(self.floor_ns[0] + calls * self.floor_ns[1], elapsed_ns / 2)
        return (elapsed_ns - overhead) / calls / 1000

    def load(self, filename: str, source: str, encoding: str = "utf-8") -> None:
        message = {"op": "load", "filename": filename, "source": source, "encoding": encoding}
        self.worker.ask(message, self.compile_timeout_s)
        self.worker.stop()

    def prepare(self, oracle: OracleClient, workload: str) -> None:
        """Construct the kernel for a workload, under the compile limit for it may build then."""
        chosen = self.operator.workload(workload)
        message = {
            "op": "prepare",
            "workload": workload,
            "entry": self.operator.candidate_name,
            "positional": [],
            "named": chosen.init_kwargs,
        }
        fds: tuple[int, ...] = ()
        arena = None
        if self.operator.layout == "kernelbench":
            reply, arena = oracle.construct(workload)
            arena = self.handover(arena)
            message |= {"size": reply["size"], "specs": reply["specs"]}
            fds = (arena.fd,)
        self.worker.ask(message, self.compile_timeout_s, fds)
        self.worker.stop()

    def handover(self, arena: Arena) -> Arena:
        """An arena of the oracle's as this child may have it."""
        return arena

    def own_copy(self, size: int) -> tuple[Arena, tuple[int, ...]]:
        """Memory for a copy of input sets, and the descriptors by which the child maps it."""
        made = Arena(size)
        return made, (made.fd,)

    def attach(self, sets: InputSets) -> None:
        """Give the child its own copy of input sets."""
        self.sets = sets
        self.arena, fds = self.own_copy(sets.arena.size)
        self.arena.bytes.copy_(sets.arena.bytes)
        message = {"op": "attach", "key": sets.key, "size": self.arena.size, "sets": sets.specs}
        reply = self.worker.ask(message, self.call_timeout_s, fds)
        self.worker.stop()
        with self.answered():
            self.input_spans = [
                (address, spec["span"], spec["name"])
                for addresses, specs in zip(answers.addresses(reply), sets.specs, strict=True)
                for address, spec in zip(addresses, specs, strict=True)
                if spec.get("span")
            ]
        self.pinned = set()

    @contextlib.contextmanager
    def answered(self) -> Iterator[None]:
        """What fails in this block does so because of the form of an answer."""
        try:
            yield
        except ValueError:
            raise Fault("protocol_error", answers.WRONG_FORM, self.worker.log()) from None

    def restore(self, index: int | None = None) -> None:
        """Put the judge's values back: of one set, or of all."""
        assert self.sets is not None and self.arena is not None
        start, end = self.sets.extent(index) if index is not None else (0, self.arena.size)
        self.arena.bytes[start:end].copy_(self.sets.arena.bytes[start:end])

    def call(
        self, index: int, poison: int | None = None, keep: bool = False, timeout_s: float | None = None
    ) -> list[dict[str, Any]]:
        """One call on fresh inputs; facts about its outputs as the child tells them. Then the child is stopped."""
        self.restore(index)
        message = {"op": "call", "set": index, "poison": poison, "keep": keep}
        reply = self.worker.ask(message, timeout_s or self.call_timeout_s)
        self.worker.stop()
        broken = self.broken(reply)
        if broken:
            raise Fault(
                "out_of_bounds_write", f"memory around an allocation of {broken[0]} was written", self.worker.log()
            )
        with self.answered():
            return answers.facts(reply)
        raise AssertionError

    def broken(self, reply: dict[str, Any]) -> list[str]:
        """Allocations of a call whose guard bands were written, in words."""
        with self.answered():
            return [answers.text(item) for item in answers.items(reply.get("broken"))]
        raise AssertionError

    def warm_up(self, calls: int) -> float:
        """Nanoseconds of one call after the first, which may build or tune; of `calls` further ones the fastest."""
        limits = [self.compile_timeout_s] + [self.call_timeout_s] * calls
        elapsed = []
        for limit in limits:
            self.restore()
            elapsed.append(self.worker.timed(ONE_CALL, limit)[1])
        return 1000 * self.call_us(min(elapsed[1:]), 1)

    def calls_for(self, call_ns: float, set_bytes: int) -> int:
        """Calls per sample: enough for SAMPLE_NS, no more than the staged inputs allow."""
        return max(1, min(math.ceil(SAMPLE_NS / call_ns), MAX_CALLS, MAX_STAGED_BYTES // set_bytes))

    def can_queue(self) -> bool:
        """True when calls can be put on the device's queue before they run, which its own clock needs."""
        return False

    def samples_of(self, calls: int) -> int:
        """Samples that a batch of so many calls gives."""
        return 1

    def use_clock(self, queued: bool) -> None:
        """Time by the device's clock or by the wall clock from now on."""

    def sample(self, chosen: list[int], verify: bool = True) -> tuple[list[float], Any]:
        """Samples in microseconds per call from a batch on the chosen sets with new values; addresses of its outputs.

        `verify`: the outputs are going to be verified.
        """
        # One call on the values of the last round: every kernel starts with its own memory and code in the caches.
        self.worker.timed(ONE_CALL, self.call_timeout_s)
        self.restore()
        calls = len(chosen)
        reply, elapsed = self.worker.timed(encode({"op": "batch", "sets": chosen}), self.call_timeout_s * calls)
        with self.answered():
            self.output_names = answers.names(reply)
            return [self.call_us(elapsed, calls)], answers.pointers(reply, calls)
        raise AssertionError

    def pin(self, pointers: list[list[int]]) -> None:
        """The child keeps the outputs of the last sample's first call from now on: nothing may lie there again."""
        self.worker.ask({"op": "pin"}, self.call_timeout_s)
        self.worker.stop()
        self.pinned = {pointer for pointer in pointers[0] if pointer > 0 and not self.of_input(pointer)}

    def of_input(self, pointer: int) -> bool:
        return any(address <= pointer < address + size for address, size, _ in self.input_spans)

    def check_sample(self, pointers: list[list[int]]) -> None:
        """Outputs that are alive were not handed out again, and no other process works for the kernel. Raises Fault."""
        if any(not self.pinned.isdisjoint(call) for call in pointers):
            raise Fault("output_reused", "a timed call returned memory of an output that is alive", self.worker.log())
        others = self.worker.others()
        if others:
            raise Fault(
                "background_work", f"{len(others)} process(es) of the kernel outlive a timed call", self.worker.log()
            )

    def wall_us(self, calls: int) -> float | None:
        """Microseconds per call with the host's part where `sample` does not count that; None where it does."""
        return None

    def check_finished(self) -> None:
        """The last sample's work was done when the clock said so. Raises Fault."""

    def check_clock(self) -> None:
        """What the device did between the timed calls agrees with the clock. Raises Fault."""

    def attribution(self, rows: list[Any]) -> tuple[float | None, dict[str, float]]:
        """Share of a profile's time in the kernel's own work, and microseconds per library operator."""
        from kernelwright.judge import policy

        return policy.attribution(rows)

    def close(self) -> None:
        self.worker.close()

    def output(self, pointer: Any, spec: Spec) -> torch.Tensor:
        """A returned tensor, copied out of the stopped child, in the layout it must have."""
        dtype = getattr(torch, spec["dtype"])
        size = span_elements(spec["shape"], spec["stride"])
        flat = torch.empty(size, dtype=dtype)
        if size:
            if not isinstance(pointer, int) or pointer <= 0:
                raise Fault("wrong_output_type", f"{spec['name']}: no tensor was returned", self.worker.log())
            self.worker.read(pointer, flat.data_ptr(), flat.numel() * flat.element_size())
        return flat.as_strided(spec["shape"], spec["stride"])

    def collect(self, pointers: list[Any], expected: Expected, index: int) -> dict[str, Any]:
        """All results of a call by name: returned tensors and the inputs that the contract lets it write."""
        assert self.sets is not None and self.arena is not None
        results = {
            name: self.output(pointer, expected.specs[name])
            for name, pointer in zip(expected.outputs, pointers, strict=True)
            if "scalar" not in expected.specs[name]
        }
        own = {spec["name"]: spec for spec in self.sets.specs[index]}
        for name in self.operator.mutates:
            results[MUTATED + name] = self.arena.view(own[name]).clone()
        return results

    def check_untouched(self, index: int | None = None) -> None:
        """Inputs that must not be written are as they were, and so are the guard bands around all of them."""
        assert self.sets is not None and self.arena is not None
        for number in range(len(self.sets.specs)) if index is None else (index,):
            start, end = self.sets.extent(number)
            if torch.equal(self.arena.bytes[start:end], self.sets.arena.bytes[start:end]):
                continue
            self._blame(number, start, end)

    def _blame(self, number: int, start: int, end: int) -> None:
        assert self.sets is not None and self.arena is not None
        changed = torch.ne(self.arena.bytes[start:end], self.sets.arena.bytes[start:end])
        for spec in self.sets.specs[number]:
            if "scalar" in spec:
                continue
            part = changed[spec["offset"] - start : spec["offset"] - start + spec["span"]]
            if part.any() and spec["name"] not in self.operator.mutates:
                raise Fault("input_mutated", f"input {spec['name']} was written, which the contract does not allow")
            part.zero_()
        if changed.any():
            raise Fault("out_of_bounds_write", "memory beside an input was written")

    def compare(self, results: dict[str, Any], expected: Expected) -> dict[str, numerics.Comparison]:
        """Comparison by output name with the operator's tolerance."""
        found = {}
        for name, actual in results.items():
            contract = self.operator.tolerance.get(name) or self._tolerance_of_mutated(name)
            limits = limits_for(expected.specs[name]["dtype"], contract)
            found[name] = numerics.compare(name, actual, expected.declared[name], expected.oracle[name], limits)
        return found

    def _tolerance_of_mutated(self, name: str) -> dict[str, Any] | None:
        source = name.removeprefix(MUTATED)
        return next(
            (
                self.operator.tolerance.get(output)
                for output, target in self.operator.aliases.items()
                if target == source
            ),
            None,
        )

    def changes_later(self, pointers: list[Any], expected: Expected, index: int, before: dict[str, Any]) -> bool:
        """True when results change after the call has returned: something in the background was still at work."""
        processes.resume(self.worker.pid)
        time.sleep(0.15)
        self.worker.stop()
        after = self.collect(pointers, expected, index)
        return any(not same_bits(before[name], after[name]) for name in before)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Bitwise equality, NaN payloads included."""
    if one.numel() == 0:
        return True
    return torch.equal(one.contiguous().view(-1).view(torch.uint8), other.contiguous().view(-1).view(torch.uint8))
