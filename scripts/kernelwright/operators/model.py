"""What every operator is, whatever layout it came in: frozen facts, no code of the operator."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.errors import InputError
from kernelwright.operators import expressions

DEFAULT_REGIMES = ("normal", "large", "tiny", "negative")
ITEMSIZE = {
    "float64": 8, "int64": 8, "uint64": 8, "complex64": 8, "complex128": 16,
    "float32": 4, "int32": 4, "uint32": 4,
    "bfloat16": 2, "float16": 2, "int16": 2, "uint16": 2,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
    "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """One concrete case: constructor and input-builder arguments."""

    id: str
    init_kwargs: dict[str, Any]
    input_kwargs: dict[str, Any]


@dataclass(frozen=True)
class Operator:
    """The contract of one operator. `inputs`/`outputs` map a name to `{dtype, shape}` or `{scalar}`, in call order."""

    name: str
    layout: str  # native, sol_execbench or kernelbench
    directory: Path
    source: Path  # what `load` takes to load it again: the folder, or KernelBench's file
    summary: str
    inputs: dict[str, dict[str, Any]]
    outputs: dict[str, dict[str, Any]]
    workloads: dict[str, Workload]
    files: tuple[Path, ...]
    reference_name: str
    candidate_name: str
    family: str | None = None
    mutates: tuple[str, ...] = ()
    aliases: dict[str, str] = field(default_factory=dict)
    deterministic: bool = True
    oracle: str = "float64"
    tolerance: dict[str, dict[str, Any]] = field(default_factory=dict)
    value_regimes: tuple[str, ...] = DEFAULT_REGIMES
    workload_sets: dict[str, list[str]] = field(default_factory=dict)
    edge_workloads: dict[str, Workload] = field(default_factory=dict)
    axes: dict[str, str | int] = field(default_factory=dict)
    traffic: dict[str, str | int] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)  # what only the layout's own importer and runtime read

    def digest(self) -> str:
        """sha256 over every file that defines the operator: name in its folder, size and content of each."""
        total = hashlib.sha256()
        for path in sorted(self.files):
            content = path.read_bytes()
            total.update(f"{path.relative_to(self.directory)}\0{len(content)}\0".encode())
            total.update(content)
        return total.hexdigest()

    def workload_ids(self, set_name: str) -> list[str]:
        """Ids of a workload set. `published` is everything outside `cpu`; an undeclared set is every workload."""
        if set_name in self.workload_sets:
            return list(self.workload_sets[set_name])
        if set_name == "published":
            small = set(self.workload_sets.get("cpu", ()))
            return [key for key in self.workloads if key not in small] or list(self.workloads)
        return list(self.workloads)

    def workload(self, workload_id: str) -> Workload:
        """A workload or edge workload. Raises InputError listing the ids."""
        found = self.workloads.get(workload_id) or self.edge_workloads.get(workload_id)
        if found is None:
            allowed = ", ".join([*self.workloads, *self.edge_workloads])
            raise InputError(f"{self.source}: no workload {workload_id!r}; allowed: {allowed}")
        return found

    def axis_values(self, workload: Workload) -> dict[str, int]:
        """Axis name -> size for one workload."""
        names = {**workload.init_kwargs, **workload.input_kwargs}
        return expressions.evaluate_axes(self.axes, names, f"{self.source}: axes (workload {workload.id})")

    def shape_of(self, declared: Mapping[str, Any], axes: Mapping[str, int], where: str) -> tuple[int, ...]:
        """Concrete shape of a declared tensor; an entry is a size, an axis or an expression over axes."""
        return tuple(expressions.evaluate(entry, axes, f"{self.source}: {where}.shape") for entry in declared["shape"])


def require_workloads(workloads: Mapping[str, Workload], where: Path) -> None:
    if not workloads:
        raise InputError(f"{where}: no workload in it; at least one is needed")
