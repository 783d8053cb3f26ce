"""Is the operator a sound problem? Trivial answers must fail its tolerance, and every input must matter.

Checked once per operator and kept by the service, before any candidate is judged on it.
"""

from __future__ import annotations

from typing import Any

import torch

from kernelwright.judge import numerics
from kernelwright.judge.faults import Fault
from kernelwright.judge.inputs import MUTATED, Expected, InputSets, OracleClient, fresh_seed
from kernelwright.judge.subject import same_bits
from kernelwright.judge.tolerance import limits_for
from kernelwright.operators.model import ITEMSIZE, Operator

DEGENERATE = {"trivial_answer_passes", "input_without_effect"}  # may hold for one workload without harm


def check(operator: Operator, oracle: OracleClient, workloads: list[str]) -> tuple[int, str]:
    """Number of checks made, and a note on workloads that alone could not tell a trivial answer from a right one.

    The operator is sound when at least one workload refuses every trivial answer and one shows each input's influence.
    Raises Fault with a reason of the class invalid_problem.
    """
    first: Fault | None = None
    labelled: list[str] = []
    for workload in workloads:
        sets = oracle.build([(workload, fresh_seed(), "normal")])
        try:
            checks = check_workload(operator, oracle, sets)
            note = f"no proof by themselves: {'; '.join(labelled)}" if labelled else ""
            return checks, note
        except Fault as fault:
            if fault.reason not in DEGENERATE:
                raise
            first = first or fault
            labelled.append(f"{workload} ({fault.sentence})")
        finally:
            oracle.drop(sets)
    assert first is not None
    raise first


def check_workload(operator: Operator, oracle: OracleClient, sets: InputSets) -> int:
    """All checks on one workload. Raises Fault."""
    expected = oracle.expect(sets, 0)
    check_finite(expected)
    check_declared(operator, expected, sets.workloads[0])
    check_repeatable(operator, oracle, sets, expected)
    inputs = sets.arena.values(sets.specs[0])
    checks = 3
    for label, answer in trivial_answers(inputs, expected):
        checks += 1
        if passes(operator, answer, expected):
            raise Fault(
                "trivial_answer_passes", f"{label} as the answer passes the tolerance of workload {sets.workloads[0]}"
            )
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.numel():
            checks += 1
            check_influence(operator, oracle, sets, name, expected)
    return checks


def check_finite(expected: Expected) -> None:
    for name, value in expected.declared.items():
        if not isinstance(value, torch.Tensor) or not value.numel():
            continue
        if value.is_complex():
            value = torch.view_as_real(value)
        if value.is_floating_point() and not torch.isfinite(value.double()).any():
            raise Fault("reference_not_finite", f"{name}: the reference has no finite element for normal inputs")


def check_declared(operator: Operator, expected: Expected, workload: str) -> None:
    """The reference returns the dtypes and shapes that operator.yaml declares. Raises Fault."""
    if operator.layout != "native":
        return
    axes = operator.axis_values(operator.workload(workload)) if operator.axes else None
    for name in expected.outputs:
        spec, declared = expected.specs[name], operator.outputs.get(name, {})
        if "scalar" in spec:
            continue
        if declared.get("dtype") in ITEMSIZE and spec["dtype"] != declared["dtype"]:
            raise mismatch(name, f"of dtype {spec['dtype']}", declared["dtype"])
        if axes is not None and "shape" in declared:
            shape = list(operator.shape_of(declared, axes, f"outputs.{name}"))
            if spec["shape"] != shape:
                raise mismatch(name, f"of shape {spec['shape']}", str(shape))


def mismatch(name: str, found: str, declared: str) -> Fault:
    return Fault("invalid_operator", f"the reference's output {name} is {found}, operator.yaml declares {declared}")


def check_repeatable(operator: Operator, oracle: OracleClient, sets: InputSets, expected: Expected) -> None:
    """The reference gives the same again for the same inputs, but for another order of summation. Raises Fault."""
    if not operator.deterministic:
        return
    for name, value in oracle.expect(sets, 0).declared.items():
        first = expected.declared[name]
        if not isinstance(value, torch.Tensor) or (value.shape == first.shape and same_bits(value, first)):
            continue
        limits = limits_for(expected.specs[name]["dtype"], None)
        if value.shape != first.shape or numerics.compare(name, value, first, first, limits).reason:
            raise Fault("invalid_operator", f"the reference gives another {name} for the same inputs: is it random?")


def trivial_answers(inputs: dict[str, Any], expected: Expected) -> list[tuple[str, dict[str, torch.Tensor]]]:
    """Answers that need no work, by label: zeros, a constant, an input copied, inputs left unwritten."""
    wanted = {name: value for name, value in expected.declared.items() if isinstance(value, torch.Tensor)}
    if not any(value.numel() for value in wanted.values()):
        return []
    untouched = {name: inputs[name.removeprefix(MUTATED)] for name in wanted if name.startswith(MUTATED)}
    answers = [
        ("zeros", {name: torch.zeros_like(value) for name, value in wanted.items()}),
        ("a constant", {name: constant(value) for name, value in wanted.items()}),
    ]
    if untouched:
        zeros = {name: torch.zeros_like(value) for name, value in wanted.items()}
        answers.append(("no work at all", {**zeros, **untouched}))
    for source, value in inputs.items():
        if not isinstance(value, torch.Tensor):
            continue
        copied = {
            name: value for name, want in wanted.items() if value.shape == want.shape and value.dtype == want.dtype
        }
        if copied:
            answers.append(
                (
                    f"input {source} copied",
                    {**{n: torch.zeros_like(w) for n, w in wanted.items()}, **untouched, **copied},
                )
            )
    return answers


def constant(value: torch.Tensor) -> torch.Tensor:
    """The mean of a tensor everywhere; the most frequent value of integers."""
    if value.numel() == 0:
        return value
    if value.is_floating_point():
        return torch.full(value.shape, value.double().mean().item(), dtype=torch.float64, device=value.device).to(
            value.dtype
        )
    if value.is_complex():
        return torch.full_like(value, value.mean().item())
    return torch.full_like(value, value.flatten().to(torch.int64).mode().values.item())


def passes(operator: Operator, answer: dict[str, torch.Tensor], expected: Expected) -> bool:
    """True when every output of `answer` is within the tolerance."""
    for name, actual in answer.items():
        limits = limits_for(expected.specs[name]["dtype"], operator.tolerance.get(name))
        if numerics.compare(name, actual, expected.declared[name], expected.oracle[name], limits).reason:
            return False
    return True


def check_influence(operator: Operator, oracle: OracleClient, sets: InputSets, name: str, expected: Expected) -> None:
    """A kernel that ignores input `name` must fail. Raises Fault."""
    try:
        other = oracle.expect(sets, 0, change=name)
    except Fault:
        return  # the reference does not even run without this input's content: it matters
    if any(other.specs.get(key, {}).get("shape") != spec.get("shape") for key, spec in expected.specs.items()):
        return
    own = MUTATED + name
    answer = {key: value for key, value in other.declared.items() if isinstance(value, torch.Tensor) and key != own}
    if not passes(operator, answer, expected):
        return
    where = f"workload {sets.workloads[0]}"
    if any(not same_bits(value, expected.declared[key]) for key, value in answer.items()):
        raise Fault("trivial_answer_passes", f"an answer that ignores input {name} passes the tolerance of {where}")
    raise Fault("input_without_effect", f"input {name} changes no output of {where}")
