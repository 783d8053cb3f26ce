"""Signatures of workloads, found in a child process that runs the input builder and, on request, the reference.

The builder runs under FakeTensorMode, which allocates nothing, so workloads of any size are seen. A builder that needs
real values is run for real when its inputs are small.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts, operators
from kernelwright.errors import InputError
from kernelwright.operators.model import ITEMSIZE, Operator, Workload

REAL_BYTES_LIMIT = 2**30
CHILD_TIMEOUT_S = 600


def in_child(operator: Operator, workload_ids: Sequence[str], with_outputs: bool = False) -> dict[str, dict[str, Any]]:
    """Workload id -> {args, input_bytes, outputs|null, note}. Raises InputError with the child's line when it fails."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-inspect-") as folder:
        request, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
        request.write_text(json.dumps({"workloads": list(workload_ids), "with_outputs": with_outputs}))
        argv = [sys.executable, "-m", "kernelwright.operators.inspection", "--operator-dir", str(operator.source)]
        argv += ["--request", str(request), "--output", str(answer)]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=CHILD_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise InputError(f"{operator.source}: its input builder ran longer than {CHILD_TIMEOUT_S} s") from None
        if done.returncode != 0 or not answer.is_file():
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise InputError(f"{operator.source}: its inputs cannot be built ({last.removeprefix('kernelwright: ')})")
        return artifacts.read_json(answer)


def inspect(operator: Operator, workload: Workload, with_outputs: bool) -> dict[str, Any]:
    """Signature of one workload; runs the operator's code."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    from kernelwright.operators.runtime import Runtime

    runtime = Runtime(operator)
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            return describe(runtime, workload, with_outputs)
    except Exception as error:  # data-dependent builders raise many kinds; the limit below decides
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    size = declared_bytes(operator, workload)
    if size is not None and size > REAL_BYTES_LIMIT:
        raise InputError(
            f"{operator.source}: workload {workload.id}: the input builder needs values ({reason}), and "
            f"its {size} bytes are more than the {REAL_BYTES_LIMIT} that are built for real"
        )
    limit_memory()
    return describe(runtime, workload, with_outputs)


def describe(runtime: Any, workload: Workload, with_outputs: bool) -> dict[str, Any]:
    inputs = runtime.build_inputs(workload, 0, "cpu")
    args = {name: argument(value) for name, value in inputs.items()}
    found: dict[str, Any] = {
        "args": args,
        "input_bytes": sum(map(bytes_of, args.values())),
        "outputs": None,
        "note": "",
    }
    if with_outputs:
        try:
            outputs = runtime.reference(workload, "cpu")(**inputs)
            found["outputs"] = {name: argument(value) for name, value in outputs.items()}
        except Exception as error:  # the traffic stays unknown, and the note says why
            found["note"] = f"outputs unknown: {type(error).__name__}: {error}"[:300]
    return found


def argument(value: Any) -> dict[str, Any]:
    """What a dispatcher may see of one argument: tensor facts, or the value of a scalar."""
    import torch

    if isinstance(value, torch.Tensor):
        return {
            "shape": list(value.shape),
            "stride": list(value.stride()),
            "dtype": str(value.dtype).removeprefix("torch."),
            "layout": "contiguous" if value.is_contiguous() else "strided",
        }
    if value is None or isinstance(value, bool | int | str):
        return {"value": value}
    if isinstance(value, float):
        return {"value": value if math.isfinite(value) else str(value)}
    if isinstance(value, list | tuple) and all(isinstance(item, bool | int | float | str) for item in value):
        return {"value": list(value)}
    raise InputError(f"an input is a {type(value).__name__}; allowed: tensors, numbers, strings, None, lists of them")


def bytes_of(argument: dict[str, Any]) -> int:
    """numel x itemsize of a tensor, 0 for a scalar. Raises InputError for a dtype without a known size."""
    if "shape" not in argument:
        return 0
    if argument["dtype"] not in ITEMSIZE and argument["dtype"] != "float4_e2m1fn_x2":
        raise InputError(f"dtype {argument['dtype']}: its size is not known; allowed: {', '.join(ITEMSIZE)}")
    return math.prod(argument["shape"]) * ITEMSIZE.get(argument["dtype"], 1)


def declared_bytes(operator: Operator, workload: Workload, group: str = "inputs") -> int | None:
    """Bytes of the declared inputs or outputs; None when a shape or dtype is not declared."""
    total = 0
    axes = operator.axis_values(workload)
    declared = operator.inputs if group == "inputs" else operator.outputs
    for name, entry in declared.items():
        if "scalar" in entry:
            continue
        itemsize = ITEMSIZE.get(entry["dtype"].split("|")[0], 1 if entry["dtype"] == "float4_e2m1fn_x2" else None)
        if itemsize is None or "shape" not in entry:
            return None
        total += math.prod(operator.shape_of(entry, axes, f"{group}.{name}")) * itemsize
    return total if declared else None


def limit_memory() -> None:
    """Let an oversized build fail with MemoryError instead of taking the machine down."""
    import resource

    import psutil

    allowed = psutil.Process().memory_info().vms + psutil.virtual_memory().available // 2
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (allowed if hard == resource.RLIM_INFINITY else min(allowed, hard), hard))


def main(argv: list[str] | None = None) -> int:
    from kernelwright import cli

    parser = argparse.ArgumentParser(prog="kernelwright.operators.inspection", description="Signatures of workloads.")
    parser.add_argument("--operator-dir", type=Path, required=True)
    parser.add_argument("--request", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    cli.die_with_parent()
    operator = operators.load(arguments.operator_dir)
    request = artifacts.read_json(arguments.request)
    found = {key: inspect(operator, operator.workload(key), request["with_outputs"]) for key in request["workloads"]}
    artifacts.write_text(arguments.output, json.dumps(found))
    return 0


if __name__ == "__main__":
    from kernelwright.cli import guarded

    sys.exit(guarded(main)())
