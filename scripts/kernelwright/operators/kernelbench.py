"""KernelBench: one file with `class Model`, `get_inputs()` and `get_init_inputs()`; the candidate is `class ModelNew`.

The file fixes one workload, `default`. Weights belong to the model: the runtime seeds before it builds the reference
and copies its weights into the candidate, so both have the same. Recognised by its syntax tree; no code is run.
"""

from __future__ import annotations

import ast
from pathlib import Path

from kernelwright.errors import InputError
from kernelwright.operators import source
from kernelwright.operators.model import Operator, Workload

NEEDED = ("Model", "get_inputs", "get_init_inputs")


def is_problem(path: Path) -> bool:
    """True when the file parses and defines all three names."""
    try:
        tree = source.parse_file(path)
    except InputError:
        return False
    return all(source.has_name(tree, name) for name in NEEDED)


def problems(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.glob("*.py")) if is_problem(path)]


def detect(directory: Path) -> bool:
    return bool(problems(directory))


def load(path: Path) -> Operator:
    """Read one KernelBench file, or a folder that holds exactly one. Raises InputError naming file and definition."""
    if path.is_dir():
        found = problems(path)
        if len(found) != 1:
            listed = ", ".join(item.name for item in found[:8]) or "none"
            raise InputError(f"{path}: {len(found)} KernelBench files ({listed}); give one of them")
        return load(found[0])
    tree = source.parse_file(path)
    source.require(tree, NEEDED, path)
    forward = source.method(tree, "Model", "forward")
    if forward is None:
        raise InputError(f"{path}: class Model has no method forward")
    count = returned_count(tree)
    names = source.argument_names(forward)
    if count is not None and not forward.args.vararg and count > len(names):
        raise InputError(f"{path}: get_inputs returns {count} values, Model.forward takes {len(names)}")
    arguments = names if count is None else [f"arg{index}" for index in range(count)]
    return Operator(
        name=path.stem,
        layout="kernelbench",
        directory=path.parent,
        source=path,
        summary=(ast.get_docstring(source.definition(tree, "Model")) or path.stem).strip().splitlines()[0],  # type: ignore[arg-type]
        inputs={f"arg{index}": {"dtype": "unknown"} for index in range(len(arguments))},
        outputs={},
        workloads={"default": Workload("default", {}, {})},
        files=(path,),
        reference_name="Model",
        candidate_name="ModelNew",
    )


def returned_count(tree: ast.Module) -> int | None:
    """How many values get_inputs returns when its last statement is a literal list or tuple; else None."""
    node = source.definition(tree, "get_inputs")
    last = node.body[-1] if node is not None else None
    if isinstance(last, ast.Return) and isinstance(last.value, ast.List | ast.Tuple):
        items = last.value.elts
        return None if any(isinstance(item, ast.Starred) for item in items) else len(items)
    return None
