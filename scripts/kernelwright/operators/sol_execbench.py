"""SOL-ExecBench: definition.json and workload.jsonl; solution.json in and out. Read without running the reference.

Axes are `const` (a value), `var` (given by each workload) or `expr` (over the other axes). An input's shape is a list
of axis names or numbers, [] for a 0-D tensor and null for a Python scalar. The tolerance is kept per workload.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.errors import InputError
from kernelwright.operators import expressions, source
from kernelwright.operators.model import ITEMSIZE, Operator, Workload, require_workloads

DEFAULT_TOLERANCE = {
    "max_atol": 1e-2,
    "max_rtol": 1e-2,
    "required_matched_ratio": 0.99,
    "max_error_cap": None,
    "allow_negative_inf": False,
}
INPUT_TYPES = {"random": (), "scalar": ("value",), "safetensors": ("path", "tensor_key"), "custom": ()}
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7, "float8_e4m3fn": 2.0**-3}
PACKED_DTYPES = ("float4_e2m1", "float4_e2m1fn_x2")


def detect(directory: Path) -> bool:
    return (directory / "definition.json").is_file()


def load(directory: Path) -> Operator:
    """Read one problem folder. Raises InputError naming file and field."""
    definition_file = directory / "definition.json"
    definition = require_object(artifacts.read_json(definition_file), str(definition_file))
    check_definition(definition, definition_file)
    workload_file = directory / "workload.jsonl"
    workloads = read_workloads(workload_file, definition)
    entries = {key: item.input_kwargs for key, item in workloads.items()}
    return Operator(
        name=definition["name"],
        layout="sol_execbench",
        directory=directory,
        source=directory,
        summary=summary_of(definition),
        inputs=declared(definition, "inputs"),
        outputs=declared(definition, "outputs"),
        workloads=workloads,
        files=(definition_file, workload_file, *safetensors_files(directory, entries)),
        reference_name="run",
        candidate_name="run",
        oracle="float32",
        tolerance=common_tolerance(definition, [item.input_kwargs["tolerance"] for item in workloads.values()]),
        axes=axis_expressions(definition),
        details={
            "reference": definition["reference"],
            "custom_inputs_entrypoint": definition.get("custom_inputs_entrypoint"),
            "definition": definition,
            "tolerance": {key: item.input_kwargs["tolerance"] for key, item in workloads.items()},
        },
    )


def require_object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: must be an object, is {type(value).__name__}")
    return value


def summary_of(definition: dict[str, Any]) -> str:
    lines = str(definition.get("description") or definition["name"]).strip().splitlines()
    return lines[0] if lines else definition["name"]


def check_definition(definition: dict[str, Any], where: Path) -> None:
    """Fields, axes, shapes and the reference source. Raises InputError naming the field."""
    for key, kind in (("name", str), ("axes", dict), ("inputs", dict), ("outputs", dict), ("reference", str)):
        if not isinstance(definition.get(key), kind):
            raise InputError(f"{where}: {key}: missing or not of type {kind.__name__}")
    for name, axis in definition["axes"].items():
        check_axis(name, require_object(axis, f"{where}: axes.{name}"), where)
    for group in ("inputs", "outputs"):
        for name, entry in definition[group].items():
            field = f"{where}: {group}.{name}"
            check_tensor(field, require_object(entry, field), definition["axes"])
    tree = source.parse(definition["reference"], f"{where}: reference")
    source.require(tree, ("run",), f"{where}: reference")
    entry_point = definition.get("custom_inputs_entrypoint")
    if entry_point is not None:
        source.require(tree, (entry_point,), f"{where}: custom_inputs_entrypoint (in reference)")


def check_axis(name: str, axis: dict[str, Any], where: Path) -> None:
    kind = axis.get("type")
    if kind not in ("const", "var", "expr"):
        raise InputError(f"{where}: axes.{name}.type: {kind!r} is not one of const, var, expr")
    if kind == "const" and (not isinstance(axis.get("value"), int) or isinstance(axis["value"], bool)):
        raise InputError(f"{where}: axes.{name}.value: {axis.get('value')!r} is not a whole number")
    if kind == "expr" and not isinstance(axis.get("expression"), str):
        raise InputError(f"{where}: axes.{name}.expression: missing or not text")


def check_tensor(where: str, entry: dict[str, Any], axes: dict[str, Any]) -> None:
    dtype = entry.get("dtype")
    if dtype not in ITEMSIZE and dtype != "float8_e4m3" and dtype not in PACKED_DTYPES:
        raise InputError(f"{where}.dtype: {dtype!r} is not known; allowed: {', '.join([*ITEMSIZE, *PACKED_DTYPES])}")
    if "shape" not in entry or not isinstance(entry["shape"], list | None):
        raise InputError(f"{where}.shape: missing; a list of axis names, [] for 0-D or null for a scalar")
    for size in entry["shape"] or ():
        if isinstance(size, str) and size not in axes and not size.isdigit():
            raise InputError(f"{where}.shape: {size!r} is no axis; axes: {', '.join(axes) or 'none'}")


def declared(definition: dict[str, Any], group: str) -> dict[str, dict[str, Any]]:
    """Inputs or outputs in our form: {dtype, shape} for a tensor, {scalar: dtype} for a Python scalar."""
    return {
        name: {"scalar": entry["dtype"]}
        if entry["shape"] is None
        else {"dtype": torch_dtype(entry["dtype"]), "shape": list(entry["shape"])}
        for name, entry in definition[group].items()
    }


def torch_dtype(name: str) -> str:
    return {"float8_e4m3": "float8_e4m3fn", "float4_e2m1": "float4_e2m1fn_x2"}.get(name, name)


def axis_expressions(definition: dict[str, Any]) -> dict[str, str | int]:
    """Axes as expressions over a workload's axis values; const and var come first, so that expr axes may use them."""
    axes: dict[str, str | int] = {}
    for name, axis in definition["axes"].items():
        if axis["type"] != "expr":
            axes[name] = axis["value"] if axis["type"] == "const" else f"axes[{name!r}]"
    pending = {name: axis["expression"] for name, axis in definition["axes"].items() if axis["type"] == "expr"}
    while pending:  # an expr axis may use another one that is declared later
        ready = [name for name, text in pending.items() if not used_names(text) & (set(pending) - {name})]
        if not ready:
            raise InputError(f"axes {', '.join(pending)}: their expressions refer to each other")
        axes.update({name: pending.pop(name) for name in ready})
    return axes


def common_tolerance(definition: dict[str, Any], given: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The problem's limits in our form: per output, the widest over its workloads; the exact ones are in `details`.

    The original allows a share of elements any error. Here the RMS error stays bounded by what `max_rtol` allows every
    element, so that a few wild elements do not pass.
    """
    rtol = max(item["max_rtol"] for item in given)
    limits = {
        "atol": max(item["max_atol"] for item in given),
        "rtol": rtol,
        "max_mismatch_ratio": round(1 - min(item["required_matched_ratio"] for item in given), 12),
        "why": "workload.jsonl",
    }
    table = {}
    for name, entry in definition["outputs"].items():
        eps = EPS.get(torch_dtype(entry["dtype"]))
        table[name] = {**limits, "error_budget": 8 + 4 * rtol / eps} if eps else dict(limits)
    return table


def used_names(expression: str) -> set[str]:
    import ast

    tree = source.parse(expression, f"axis expression {expression!r}")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def read_workloads(path: Path, definition: dict[str, Any]) -> dict[str, Workload]:
    """Lines of workload.jsonl; a line of a trace (with the key `workload`) is accepted too."""
    if not path.is_file():
        raise InputError(f"{path.parent}: SOL-ExecBench layout without workload.jsonl")
    workloads: dict[str, Workload] = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            entry = require_object(json.loads(line), where)
        except ValueError as error:
            raise InputError(f"{where}: not valid JSON ({error})") from None
        workload = read_workload(entry.get("workload", entry), definition, where)
        if workload.id in workloads:
            raise InputError(f"{where}: uuid: {workload.id!r} is used twice")
        workloads[workload.id] = workload
    require_workloads(workloads, path)
    return workloads


def read_workload(entry: Any, definition: dict[str, Any], where: str) -> Workload:
    entry = require_object(entry, where)
    if not isinstance(entry.get("uuid"), str):
        raise InputError(f"{where}: uuid: missing or not text")
    axes = require_object(entry.get("axes") or {}, f"{where}: axes")
    for name, axis in definition["axes"].items():
        if axis["type"] == "var" and (not isinstance(axes.get(name), int) or isinstance(axes[name], bool)):
            raise InputError(f"{where}: axes.{name}: {axes.get(name)!r} is not a whole number")
    inputs = require_object(entry.get("inputs"), f"{where}: inputs")
    check_inputs(inputs, definition, where)
    tolerance = {**DEFAULT_TOLERANCE, **require_object(entry.get("tolerance") or {}, f"{where}: tolerance")}
    unknown = sorted(set(tolerance) - set(DEFAULT_TOLERANCE))
    if unknown:
        raise InputError(f"{where}: tolerance.{unknown[0]}: unknown; allowed: {', '.join(DEFAULT_TOLERANCE)}")
    given = {name: value for name, value in axes.items() if name in definition["axes"]}
    workload = Workload(entry["uuid"], {}, {"axes": given, "inputs": inputs, "tolerance": tolerance})
    expressions.evaluate_axes(axis_expressions(definition), workload.input_kwargs, f"{where}: axes")
    return workload


def check_inputs(inputs: dict[str, Any], definition: dict[str, Any], where: str) -> None:
    for name in definition["inputs"]:
        if name not in inputs:
            raise InputError(f"{where}: inputs.{name}: missing; definition.json declares it")
        entry = require_object(inputs[name], f"{where}: inputs.{name}")
        kind = entry.get("type")
        if kind not in INPUT_TYPES:
            raise InputError(f"{where}: inputs.{name}.type: {kind!r} is not one of {', '.join(INPUT_TYPES)}")
        for key in INPUT_TYPES[kind]:
            if key not in entry:
                raise InputError(f"{where}: inputs.{name}.{key}: missing for type {kind}")
        if kind == "custom" and not definition.get("custom_inputs_entrypoint"):
            raise InputError(f"{where}: inputs.{name}: type custom without custom_inputs_entrypoint in definition.json")
    unknown = sorted(set(inputs) - set(definition["inputs"]))
    if unknown:
        raise InputError(f"{where}: inputs.{unknown[0]}: not declared in definition.json")


def safetensors_path(directory: Path, relative: str) -> Path:
    """A workload's data file: beside the problem, or in a folder above it (a data set's shared blobs)."""
    for root in (directory, *list(directory.parents)[:4]):
        if (path := root / relative).is_file():
            return path
    where = f"{directory / 'workload.jsonl'}: inputs: safetensors path {relative!r}"
    raise InputError(f"{where}: no such file beside the problem or above it")


def safetensors_files(directory: Path, entries: dict[str, dict[str, Any]]) -> list[Path]:
    inputs = [entry for kwargs in entries.values() for entry in kwargs["inputs"].values()]
    names = {entry["path"] for entry in inputs if entry["type"] == "safetensors"}
    return [safetensors_path(directory, name) for name in sorted(names)]
