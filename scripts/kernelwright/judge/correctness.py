"""Correctness of one kernel: secret seeds, value regimes, poisoned memory, exact facts, errors against the oracle."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from kernelwright.judge import numerics
from kernelwright.judge.faults import Fault
from kernelwright.judge.inputs import Expected, InputSets, OracleClient, fresh_seed
from kernelwright.judge.subject import Subject, same_bits

POISONS = (0xFF, 0x5A)  # all floats NaN, integers -1; and an unlikely large value
MAX_EXTRA_BYTES = 64 << 20  # of input sets held at once


@dataclass
class Report:
    """Entry of verdict.correctness.workloads, while it grows."""

    checks: int = 0
    worst_error: float | None = None
    error_ratio: float | None = None
    note: str = ""

    def add(self, comparisons: dict[str, numerics.Comparison]) -> None:
        for item in comparisons.values():
            self.checks += 1
            self.worst_error = larger(self.worst_error, item.worst_error)
            self.error_ratio = larger(self.error_ratio, item.error_ratio)

    def entry(self, passed: bool) -> dict[str, Any]:
        body = {
            "passed": passed,
            "checks": self.checks,
            "worst_error": self.worst_error,
            "error_ratio": self.error_ratio,
        }
        return {**body, "note": self.note} if self.note else body


def larger(one: float | None, other: float | None) -> float | None:
    finite = [value for value in (one, other) if value is not None and abs(value) != float("inf") and value == value]
    return max(finite, default=None)


def regimes_by_workload(workloads: list[str], regimes: tuple[str, ...]) -> dict[str, list[str]]:
    """Every regime but `normal` on at least one workload, dealt out in a secret order; spikes on all of them."""
    order = list(workloads)
    secrets.SystemRandom().shuffle(order)
    dealt: dict[str, list[str]] = {workload: [] for workload in workloads}
    for index, regime in enumerate(item for item in regimes if item != "normal"):
        dealt[order[index % len(order)]].append(regime)
    return {workload: [*found, *spikes(regimes)] for workload, found in dealt.items()}


def spikes(regimes: tuple[str, ...]) -> list[str]:
    """The regime of single large values, where the operator may be given large ones at all."""
    return ["spike"] if "large" in regimes else []


class Correctness:
    """Runs checks of one subject and keeps a report per workload."""

    def __init__(self, subject: Subject, oracle: OracleClient) -> None:
        self.subject = subject
        self.oracle = oracle
        self.reports: dict[str, Report] = {}
        self.seeds: list[int] = []

    def smoke(self, workload: str, poison: int | None = POISONS[0]) -> None:
        """One workload, one seed, poisoned memory."""
        sets = self._build(workload, 1, [])
        self.subject.attach(sets)
        self.subject.prepare(self.oracle, workload)
        self._check(sets, 0, "normal", poison, timeout_s=self.subject.compile_timeout_s)
        self.oracle.drop(sets)

    def run(self, workload: str) -> None:
        """One call without a look at its result: what cannot run raises."""
        sets = self._build(workload, 1, [])
        self.subject.attach(sets)
        self.subject.prepare(self.oracle, workload)
        self.subject.call(0, timeout_s=self.subject.compile_timeout_s)
        self.oracle.drop(sets)

    def full(self, workload: str, seeds: int, regimes: list[str]) -> None:
        """One workload: all seeds and regimes; outputs kept alive between calls so that a reused buffer shows."""
        sets = self._build(workload, seeds, regimes)
        self.subject.attach(sets)
        self.subject.prepare(self.oracle, workload)
        kept: list[tuple[int, int, str]] = []
        first = 0
        for index in range(len(sets.specs)):
            regime = "normal" if index < seeds else regimes[index - seeds]
            poison = POISONS[1] if index == 0 else None
            limit = self.subject.compile_timeout_s if index == 0 else None
            facts, expected, results = self._check(sets, index, regime, poison, keep=True, timeout_s=limit)
            kept = self._check_reuse(kept, facts, expected)
            if index == 0:
                first = index
                self._check_repeat(sets, first, results, expected)
        self.oracle.drop(sets)

    def _build(self, workload: str, seeds: int, regimes: list[str]) -> InputSets:
        chosen = [fresh_seed() for _ in range(seeds + len(regimes))]
        self.seeds += chosen
        names = ["normal"] * seeds + regimes
        return self.oracle.build([(workload, seed, regime) for seed, regime in zip(chosen, names, strict=True)])

    def _check(
        self,
        sets: InputSets,
        index: int,
        regime: str,
        poison: int | None,
        keep: bool = False,
        timeout_s: float | None = None,
    ) -> tuple[list[dict[str, Any]], Expected, dict[str, Any]]:
        workload = sets.workloads[index]
        report = self.reports.setdefault(workload, Report())
        try:
            facts = self.subject.call(index, poison, keep, timeout_s)
            expected = self.oracle.expect(sets, index)
            report.note = report.note or expected.note
            facts = in_order(facts, expected.outputs)
            check_facts(facts, expected, self.subject.device_type)
            self.subject.check_untouched(index)
            check_aliases(facts, expected, self.subject)
            pointers = [fact.get("pointer") for fact in facts]
            results = self.subject.collect(pointers, expected, index)
            comparisons = self.subject.compare(results, expected)
            report.add(comparisons)
            wrong = next(((name, item) for name, item in comparisons.items() if item.reason), None)
            if wrong is not None:
                raise self._explained(wrong, results, expected, pointers, index, poison, regime)
        except Fault as fault:
            fault.workload = workload
            raise
        return facts, expected, results

    def _explained(
        self,
        wrong: tuple[str, numerics.Comparison],
        results: dict[str, Any],
        expected: Expected,
        pointers: list[Any],
        index: int,
        poison: int | None,
        regime: str,
    ) -> Fault:
        """The fault of a wrong result: what is known about why."""
        name, comparison = wrong
        where = f"{comparison.sentence} ({regime} values)"
        if poison is not None and numerics.carries_poison(results[name], expected.declared[name], poison):
            return Fault("unwritten_output", f"{where}; elements were never written", self.subject.worker.log())
        if self.subject.changes_later(pointers, expected, index, results):
            return Fault(
                "background_work", f"{where}; the output changed after the call had returned", self.subject.worker.log()
            )
        return Fault(comparison.reason or "wrong_values", where, self.subject.worker.log())

    def _check_repeat(self, sets: InputSets, index: int, before: dict[str, Any], expected: Expected) -> None:
        """The same inputs again without poison: equal bits when the contract says so, correct in any case."""
        _, _, after = self._check(sets, index, "normal", None, keep=True)
        if not self.subject.operator.deterministic:
            return
        different = [name for name in before if not same_bits(before[name], after[name])]
        if different:
            fault = Fault(
                "nondeterministic",
                f"{different[0]}: the same inputs gave different bits in two calls",
                self.subject.worker.log(),
            )
            fault.workload = sets.workloads[index]
            raise fault

    def _check_reuse(
        self, kept: list[tuple[int, int, str]], facts: list[dict[str, Any]], expected: Expected
    ) -> list[tuple[int, int, str]]:
        """Outputs of different calls that are alive together must not share memory."""
        mine = [
            (fact["pointer"], expected.specs[name]["span"], name)
            for name, fact in zip(expected.outputs, facts, strict=True)
            if expected.specs[name].get("span") and name not in expected.aliases
        ]
        for address, size, name in mine:
            if any(overlap(address, size, other, length) for other, length, _ in kept):
                raise Fault("output_reused", f"{name}: the output of an earlier call is overwritten by a later one")
        return kept + mine


def overlap(one: int, one_size: int, other: int, other_size: int) -> bool:
    return one < other + other_size and other < one + one_size


def in_order(facts: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """Facts in the order of the reference's outputs, by name when a mapping was returned. Raises Fault."""
    if len(facts) != len(names):
        raise Fault(
            "wrong_output_type", f"{len(facts)} outputs were returned, expected {len(names)} ({', '.join(names)})"
        )
    if not facts or facts[0].get("name") is None:
        return facts
    by_name = {fact.get("name"): fact for fact in facts}
    if set(by_name) != set(names):
        raise Fault(
            "wrong_output_type", f"outputs are named {', '.join(map(str, by_name))}, expected {', '.join(names)}"
        )
    return [by_name[name] for name in names]


def check_facts(facts: list[dict[str, Any]], expected: Expected, device: str = "cpu") -> None:
    """Exact type, dtype, shape, stride and device. Raises Fault."""
    for name, fact in zip(expected.outputs, facts, strict=True):
        spec = expected.specs[name]
        if "scalar" in spec:
            if fact.get("value") != spec["scalar"]:
                raise Fault("wrong_values", f"{name}: is {fact.get('value')!r}, expected {spec['scalar']!r}")
            continue
        if fact.get("type") != "Tensor":
            raise Fault("wrong_output_type", f"{name}: is a {fact.get('type')}, expected a plain torch.Tensor")
        for key, reason in (("dtype", "wrong_dtype"), ("shape", "wrong_shape")):
            if fact.get(key) != spec[key]:
                raise Fault(reason, f"{name}: {key} is {fact.get(key)}, expected {spec[key]}")
        if not same_stride(fact.get("stride"), spec["stride"], spec["shape"]):
            raise Fault("wrong_stride", f"{name}: stride is {fact.get('stride')}, expected {spec['stride']}")
        if fact.get("device") != device:
            raise Fault("wrong_device", f"{name}: lies on {fact.get('device')}, expected {device}")


def same_stride(found: Any, wanted: list[int], shape: list[int]) -> bool:
    """Equal where it matters: dimensions of size one have no stride, and empty tensors neither."""
    if not isinstance(found, list) or len(found) != len(wanted):
        return False
    return 0 in shape or all(one == other for one, other, size in zip(found, wanted, shape, strict=True) if size > 1)


def check_aliases(facts: list[dict[str, Any]], expected: Expected, subject: Subject) -> None:
    """An output shares memory with an input only where the reference's does or the contract says so."""
    for name, fact in zip(expected.outputs, facts, strict=True):
        span = expected.specs[name].get("span")
        if not span:
            continue
        if not isinstance(fact.get("pointer"), int):
            raise Fault("protocol_error", "the kernel's process gave an answer of the wrong form")
        allowed = {expected.aliases.get(name), subject.operator.aliases.get(name)}
        for address, size, source in subject.input_spans:
            if source not in allowed and overlap(fact["pointer"], span, address, size):
                raise Fault("output_aliases_input", f"{name}: shares memory with input {source}")
