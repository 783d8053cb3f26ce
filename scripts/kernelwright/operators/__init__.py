"""Operators in three public layouts, read without running any of their code.

`load` detects the layout by its files: native (reference.py, shapes.json), SOL-ExecBench (definition.json,
workload.jsonl), KernelBench (one file with Model, get_inputs and get_init_inputs). Their code runs in `runtime`, which
only a child process of a step or of the judge imports.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright import paths
from kernelwright.errors import InputError
from kernelwright.operators import kernelbench, native, sol_execbench
from kernelwright.operators.model import DEFAULT_REGIMES, ITEMSIZE, Operator, Workload

__all__ = ["DEFAULT_REGIMES", "ITEMSIZE", "Operator", "Workload", "available", "find", "load"]

LAYOUTS = (native, sol_execbench, kernelbench)


def load(directory: Path | str) -> Operator:
    """Read an operator folder, or a single KernelBench file. Raises InputError naming file and field."""
    path = Path(directory).absolute()
    if path.is_file() and path.suffix == ".py":
        return kernelbench.load(path)
    if not path.is_dir():
        raise InputError(f"{path}: no such operator folder")
    for layout in LAYOUTS:
        if layout.detect(path):
            return layout.load(path)
    found = ", ".join(sorted(item.name for item in path.iterdir())[:8]) or "nothing"
    raise InputError(
        f"{path}: no known operator layout; it has {found}; known: reference.py+input.py+shapes.json, "
        "definition.json+workload.jsonl, or one .py file with Model, get_inputs and get_init_inputs"
    )


def available() -> list[str]:
    """Names of the operators that come with the project."""
    root = paths.operators_dir()
    return sorted(path.parent.name for path in root.glob("*/shapes.json")) if root.is_dir() else []


def find(name: str, operator_dir: Path | str | None = None) -> Path:
    """Folder of an operator: `operator_dir` when given, else operators/<name>. Raises InputError listing the names."""
    if operator_dir is not None:
        path = Path(operator_dir).absolute()
        found = load(path).name
        if found != name:
            raise InputError(f"{path}: holds operator {found!r}, not {name!r}")
        return path
    path = paths.operators_dir() / name
    if "/" in name or not path.is_dir():
        raise InputError(f"operator {name!r}: no such folder in {path.parent}; allowed: {', '.join(available())}")
    return path
