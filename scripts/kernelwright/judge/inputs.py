"""The service's side of the oracle: input sets in shared memory, expected outputs, and changing values in place."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.judge.arena import GUARD_BYTES, Arena, Spec
from kernelwright.judge.faults import Fault
from kernelwright.judge.transport import Taker
from kernelwright.judge.worker import Worker

ORACLE_TIMEOUT_S = 600.0
MUTATED = "mutated:"
BY_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class InputSets:
    """Input sets of one arena. `specs[i]` are the inputs of set i; guard bands lie around each tensor."""

    key: int
    arena: Arena
    specs: list[list[Spec]]
    workloads: list[str]

    def extent(self, index: int) -> tuple[int, int]:
        """First and last byte (excluded) of a set, its guard bands included."""
        tensors = [spec for spec in self.specs[index] if "scalar" not in spec]
        if not tensors:
            return 0, 0
        return tensors[0]["offset"] - GUARD_BYTES, min(
            tensors[-1]["offset"] + tensors[-1]["span"] + GUARD_BYTES, self.arena.size
        )

    def set_bytes(self) -> int:
        return max(1, self.arena.size // len(self.specs))


@dataclass(frozen=True)
class Expected:
    """Outputs of the reference: at the declared dtype, and from the oracle. Mutated inputs are `mutated:NAME`."""

    specs: dict[str, Spec]  # of the declared outputs, in order
    declared: dict[str, Any]
    oracle: dict[str, Any]
    aliases: dict[str, str]
    note: str

    @property
    def outputs(self) -> list[str]:
        return [name for name in self.declared if not name.startswith(MUTATED)]


class OracleClient:
    """Questions to one oracle process. A reference that fails is a fault of the problem, not of a candidate."""

    def __init__(self, worker: Worker, taker: Taker | None = None) -> None:
        self.worker = worker
        self.taker = taker or Taker()
        self.keys = itertools.count()

    def _ask(self, message: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        try:
            answer = self.worker.ask_fds({**message, "released": self.taker.released()}, ORACLE_TIMEOUT_S)
            self.worker.stop()  # its OpenMP threads must not spin while a kernel is timed
            return answer
        except Fault as fault:
            said = fault.sentence.removeprefix("the kernel raised ").replace("the kernel's", "the reference's")
            raise Fault(
                "invalid_operator", f"the operator's own code failed in {message['op']}: {said}", fault.log
            ) from None

    def build(self, wishes: list[tuple[str, int, str]]) -> InputSets:
        """Input sets for (workload, seed, regime)."""
        key = next(self.keys)
        sets = [{"workload": workload, "seed": seed, "regime": regime} for workload, seed, regime in wishes]
        reply, fds = self._ask({"op": "build", "key": key, "sets": sets})
        return InputSets(key, self.taker.take(reply, fds), reply["sets"], [workload for workload, _, _ in wishes])

    def expect(self, sets: InputSets, index: int, change: str | None = None) -> Expected:
        """Expected outputs for the present content of a set; with `change`, for that input disturbed."""
        reply, fds = self._ask({"op": "expect", "key": sets.key, "index": index, "change": change})
        arena = self.taker.take(reply, fds)
        values = arena.values(reply["specs"])
        specs = {
            spec["name"].partition(":")[2]: spec for spec in reply["specs"] if spec["name"].startswith("declared:")
        }
        by_kind = [
            {name.partition(":")[2]: value for name, value in values.items() if name.startswith(kind)}
            for kind in ("declared:", "oracle:")
        ]
        return Expected(specs, by_kind[0], by_kind[1], reply["aliases"], reply["note"])

    def construct(self, workload: str) -> tuple[dict[str, Any], Arena]:
        reply, fds = self._ask({"op": "construct", "workload": workload})
        return reply, self.taker.take(reply, fds)

    def drop(self, sets: InputSets) -> None:
        self._ask({"op": "drop", "key": sets.key})

    def close(self) -> None:
        self.worker.close()


def fresh_seed() -> int:
    """A secret seed; 31 bits, for NumPy's seeding takes no more than 32."""
    return secrets.randbits(31)


def refresh(sets: InputSets, declared: dict[str, dict[str, Any]]) -> None:
    """New values at every address without leaving the operator's domain.

    Whole sets change places by one secret step, and each floating input is rolled along its first dimension longer
    than one by a secret step of its own, so rows stay rows. Integers and inputs marked `index` stay with their set.
    """
    count = len(sets.specs)
    step = secrets.randbelow(count) if count > 1 else 0
    for position, spec in enumerate(sets.specs[0]):
        if "scalar" in spec or not spec["span"]:
            continue
        floating = getattr(torch, spec["dtype"]).is_floating_point and not declared.get(spec["name"], {}).get("index")
        dim = next((index for index, size in enumerate(spec["shape"]) if size > 1), None)
        shift = 1 + secrets.randbelow(spec["shape"][dim] - 1) if floating and dim is not None else 0
        roll(stacked(sets, position), step, dim, shift)


def stacked(sets: InputSets, position: int) -> list[torch.Tensor] | torch.Tensor:
    """One input over all sets as (sets, *shape) without copying, or a list where the sets' layouts differ."""
    first = sets.specs[0][position]
    size = torch.empty((), dtype=getattr(torch, first["dtype"])).element_size()
    layouts = [(one[position]["shape"], one[position]["stride"]) for one in sets.specs]
    offsets = [one[position]["offset"] for one in sets.specs]
    pitch = offsets[1] - offsets[0] if len(offsets) > 1 else 0
    regular = all(offset == offsets[0] + index * pitch for index, offset in enumerate(offsets)) and pitch % size == 0
    if not regular or size not in BY_SIZE or any(layout != layouts[0] for layout in layouts):
        return [sets.arena.view(one[position]) for one in sets.specs]
    end = sets.arena.size // size * size
    flat = sets.arena.bytes[offsets[0] % size : end].view(BY_SIZE[size])
    return flat.as_strided((len(offsets), *first["shape"]), (pitch // size, *first["stride"]), offsets[0] // size)


def roll(tensors: list[torch.Tensor] | torch.Tensor, step: int, dim: int | None, shift: int) -> None:
    if isinstance(tensors, torch.Tensor):
        dims = (0,) if dim is None else (0, dim + 1)
        if step or shift:
            tensors.copy_(torch.roll(tensors, (step, shift)[: len(dims)], dims))
        return
    for tensor in tensors:
        if dim is not None and shift and tensor.dim() > dim:
            tensor.copy_(torch.roll(tensor, shift, dim))
