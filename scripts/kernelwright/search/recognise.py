"""Which templates serve an operator: run its reference on small workloads and compare each template's readings of it.

The family and the roles narrow the readings; numbers decide. A reading is kept when its formula, in float64 where the
reference allows it, gives the reference's outputs on every workload tried, also for inputs scaled down, to
zero too, so that an epsilon shows. Runs operator code, so a step starts it as a child:
`python -m kernelwright.search.recognise`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli
from kernelwright.errors import KernelwrightError
from kernelwright.search import templates
from kernelwright.search.templates.base import Facts

LIMIT = 1e-5  # relative to the largest expected value; a wrong reading of an epsilon or an activation is far above it
SCALES = (1.0, 1e-3, 0.0)
MOST_WORKLOADS = 6
MOST_ELEMENTS = 1 << 22
TIMEOUT_S = 300.0


def recognise(operator: Any, framework: str) -> dict[str, Any]:
    """{facts, matches: [{template, semantics, error}]}: what was seen and each fitting template's best reading."""
    from kernelwright.operators.runtime import Runtime

    runtime = Runtime(operator)
    workloads = small_workloads(operator)
    facts = observe(runtime, workloads)
    matches = []
    for template in templates.for_family(operator.family, framework):
        best = best_reading(template, facts, runtime, workloads)
        if best is not None:
            matches.append({"template": template.NAME, **best})
    return {"facts": facts.to_json(), "matches": matches}


def small_workloads(operator: Any) -> list[Any]:
    """The smallest workload of each set of constructor arguments, then further small ones; never larger than needed."""
    everything = [*operator.edge_workloads.values(), *operator.workloads.values()]
    ordered = sorted(everything, key=lambda workload: (_elements(operator, workload), workload.id))
    by_init: dict[str, Any] = {}
    for workload in ordered:
        by_init.setdefault(json.dumps(workload.init_kwargs, sort_keys=True), workload)
    chosen = list(by_init.values())[: MOST_WORKLOADS - 2]
    chosen += [workload for workload in ordered if workload not in chosen][: MOST_WORKLOADS - len(chosen)]
    small = [workload for workload in chosen if _elements(operator, workload) <= MOST_ELEMENTS]
    return small or chosen[:1]


def _elements(operator: Any, workload: Any) -> int:
    total = 0
    axes = operator.axis_values(workload)
    for name, declared in operator.inputs.items():
        size = 1
        for extent in operator.shape_of(declared, axes, name) if declared.get("shape") is not None else ():
            size *= extent
        total += size
    return total


def observe(runtime: Any, workloads: list[Any]) -> Facts:
    """Arguments, dtypes, ranks and constructor of the operator, from its reference run on one small workload."""
    import inspect

    import torch

    operator = runtime.operator
    inputs = runtime.build_inputs(workloads[0], seed=0, device="cpu")
    reference = runtime.reference(workloads[0], "cpu")
    seen = {name: _fact(value) for name, value in inputs.items()}
    outputs = reference(**inputs)
    model = reference.function
    is_module = isinstance(model, torch.nn.Module)
    parameters = inspect.signature(type(model).__init__).parameters.values() if is_module else ()
    named = [p for p in parameters if p.name != "self" and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    init = tuple((p.name, None if p.default is p.empty else repr(p.default)) for p in named)
    aliases = {
        out: name
        for out, value in outputs.items()
        for name, given in inputs.items()
        if isinstance(value, torch.Tensor) and isinstance(given, torch.Tensor) and value.data_ptr() == given.data_ptr()
    }
    return Facts(
        operator=operator.name,
        family=operator.family,
        layout=operator.layout,
        entry=operator.candidate_name,
        init=init,
        inputs=seen,
        outputs={name: _fact(value) for name, value in outputs.items()},
        init_values=dict(workloads[0].init_kwargs),
        mutates=tuple(operator.mutates),
        state=tuple(model.state_dict()) if is_module else (),
        aliases=aliases,
    )


def _fact(value: Any) -> dict[str, Any]:
    if hasattr(value, "dtype") and hasattr(value, "dim"):
        return {"dtype": str(value.dtype).removeprefix("torch."), "rank": value.dim()}
    return {"scalar": type(value).__name__}


def best_reading(template: Any, facts: Facts, runtime: Any, workloads: list[Any]) -> dict[str, Any] | None:
    """The template's reading with the least error, or None when none is within LIMIT on every workload and scale."""
    readings = list(template.hypotheses(facts))
    if not readings:
        return None
    cases = [case for workload in workloads for case in _cases(template, facts, runtime, workload)]
    scored = []
    for index, semantics in enumerate(readings):
        worst = 0.0
        for init, inputs, expected in cases:
            worst = max(worst, _error(lambda: template.formula(semantics, init, inputs), expected))  # noqa: B023
            if not worst <= LIMIT:
                break
        if worst <= LIMIT:
            scored.append((worst, index, semantics))
    if not scored:
        return None
    worst, _, semantics = min(scored, key=lambda entry: entry[:2])
    return {"semantics": semantics, "error": worst}


def _cases(
    template: Any, facts: Facts, runtime: Any, workload: Any
) -> list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """(constructor arguments, inputs, expected outputs) at each scale; float64 when the reference takes it."""
    import copy

    import torch

    found = []
    made = runtime.build_inputs(workload, seed=1, device="cpu")
    for scale in SCALES:
        inputs = dict(made)
        for name, value in made.items():
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                wide = value.double() if template.PRECISION == "float64" else value
                inputs[name] = wide * scale if value.element_size() > 1 else wide
        expected = runtime.reference(workload, "cpu")(**copy.deepcopy(inputs))
        found.append((facts.init_arguments(workload.init_kwargs), inputs, expected))
    return found


def _error(formula: Callable[[], Mapping[str, Any]], expected: Mapping[str, Any]) -> float:
    """Largest error over the outputs: relative to the largest value for floats, share of mismatches otherwise."""
    try:
        given = formula()
    except (RuntimeError, ValueError, IndexError, TypeError):
        return float("inf")
    if list(given) != list(expected) and set(given) != set(expected):
        return float("inf")
    return max((_tensor_error(given[name], expected[name]) for name in expected), default=float("inf"))


def _tensor_error(given: Any, expected: Any) -> float:
    if given.shape != expected.shape:
        return float("inf")
    if not expected.is_floating_point():
        return float((given != expected).double().mean()) if expected.numel() else 0.0
    given, expected = given.double(), expected.double()
    if not bool((given.isfinite() == expected.isfinite()).all()):
        return float("inf")
    finite = expected.isfinite()
    given, expected = given[finite], expected[finite]
    if expected.numel() == 0:
        return 0.0
    largest = float(expected.abs().max())
    return float((given - expected).abs().max()) / (largest if largest > 0 else 1.0)


def in_child(operator_dir: Path, framework: str) -> dict[str, Any]:
    """Run `recognise` in a child process. Raises KernelwrightError with the child's last line when it fails."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        output = Path(folder) / "recognised.json"
        command = [sys.executable, "-m", "kernelwright.search.recognise", "--operator-dir", str(operator_dir)]
        command += ["--framework", framework, "--output", str(output)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise KernelwrightError(f"{operator_dir}: the reference ran longer than {TIMEOUT_S:.0f} s") from None
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
            raise KernelwrightError(f"{operator_dir}: the reference could not be run for recognition: {lines[-1]}")
        body: dict[str, Any] = artifacts.read_json(output)
        return body


def cached(operator: Any, framework: str, folder: Path) -> dict[str, Any]:
    """`in_child`, kept in `folder` under the digest of the operator and of the templates' sources."""
    import hashlib

    total = hashlib.sha256(operator.digest().encode())
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix in (".py", ".cpp", ".hpp", ".j2"):
            total.update(path.read_bytes())
    kept = Path(folder) / f"recognised-{framework}-{total.hexdigest()[:16]}.json"
    if not kept.is_file():
        artifacts.write_text(kept, json.dumps(in_child(operator.source, framework)))
    body: dict[str, Any] = artifacts.read_json(kept)
    return body


def main(argv: list[str] | None = None) -> int:
    from kernelwright import operators

    parser = argparse.ArgumentParser(prog="python -m kernelwright.search.recognise", description=__doc__)
    parser.add_argument("--operator-dir", type=Path, required=True)
    parser.add_argument("--framework", required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(argv)
    artifacts.write_text(args.output, json.dumps(recognise(operators.load(args.operator_dir), args.framework)))
    return 0


if __name__ == "__main__":
    sys.exit(cli.step(main)())
