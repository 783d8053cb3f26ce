"""The service's side of the oracle: input sets in shared memory, expected outputs, and changing values in place."""

from __future__ import annotations

import contextlib
import itertools
import secrets
from dataclasses import dataclass
from typing import Any

from kernelwright.judge.arena import GUARD_BYTES, Arena, Spec
from kernelwright.judge.faults import Fault
from kernelwright.judge.transport import Taker
from kernelwright.judge.worker import Worker

ORACLE_TIMEOUT_S = 600.0
MUTATED = "mutated:"


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
            said = fault.sentence.removeprefix("the kernel raised ").replace("the kernel's process", "its process")
            raise Fault(
                "invalid_operator", f"the operator's own code failed in {message['op']}: {said}", fault.log
            ) from None

    def build(self, wishes: list[tuple[str, int, str]]) -> InputSets:
        """Input sets for (workload, seed, regime)."""
        key = next(self.keys)
        sets = [{"workload": workload, "seed": seed, "regime": regime} for workload, seed, regime in wishes]
        reply, fds = self._ask({"op": "build", "key": key, "sets": sets})
        return InputSets(key, self.taker.take(reply, fds), reply["sets"], [workload for workload, _, _ in wishes])

    def rebuild(self, sets: InputSets) -> bool:
        """New values from new secret seeds in the same places; False where an input would need another place."""
        wishes = [{"workload": workload, "seed": fresh_seed(), "regime": "normal"} for workload in sets.workloads]
        return self._ask({"op": "rebuild", "key": sets.key, "sets": wishes})[0]["same"]

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
        with contextlib.suppress(Fault):  # of a process that is gone there is nothing to drop, and why is known already
            self._ask({"op": "drop", "key": sets.key})

    def close(self) -> None:
        self.worker.close()


def fresh_seed() -> int:
    """A secret seed; 31 bits, for NumPy's seeding takes no more than 32."""
    return secrets.randbits(31)
