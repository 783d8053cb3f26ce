"""Native operators: reference.py, input.py, shapes.json (Atrex-Bench's layout), with our optional operator.yaml.

Without operator.yaml the contract is what the files show: argument names from `Model.forward`, dtypes from
metadata.json when it is there, outputs by position (out0, out1...), no declared traffic.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.errors import InputError
from kernelwright.operators import source
from kernelwright.operators.model import DEFAULT_REGIMES, ITEMSIZE, Operator, Workload, require_workloads

REQUIRED = ("reference.py", "input.py", "shapes.json")
DTYPE_NAMES = {
    "bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64",
    "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2",
}  # fmt: skip


def detect(directory: Path) -> bool:
    return (directory / "reference.py").is_file() and (directory / "shapes.json").is_file()


def load(directory: Path) -> Operator:
    """Read one native operator folder. Raises InputError naming file and field."""
    for name in REQUIRED:
        if not (directory / name).is_file():
            raise InputError(f"{directory}: native layout without {name}; needed: {', '.join(REQUIRED)}")
    reference = source.parse_file(directory / "reference.py")
    source.require(reference, ("Model",), directory / "reference.py")
    source.require(source.parse_file(directory / "input.py"), ("_make_inputs",), directory / "input.py")
    workloads = read_shapes(directory / "shapes.json")
    contract_file = directory / "operator.yaml"
    declared = contract_file.is_file()
    contract = read_contract(contract_file, workloads) if declared else bare_contract(directory, reference)
    return build(directory, workloads, contract)


def read_shapes(path: Path) -> dict[str, Workload]:
    """Workloads of shapes.json: id -> {init_kwargs: object or null, input_kwargs: object}."""
    artifacts.read_json(path)  # says what is wrong with the text
    table = json.loads(path.read_text(), object_pairs_hook=once(path), parse_constant=finite(path))
    if not isinstance(table, dict):
        raise InputError(f"{path}: must be an object from workload id to its arguments, is {type(table).__name__}")
    workloads = {key: make_workload(key, entry, f"{path}: {key}") for key, entry in table.items()}
    require_workloads(workloads, path)
    return workloads


def once(path: Path) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """An object of JSON in which no key is there twice."""

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{path}: {twice!r} is there twice in one object")
        return found

    return made


def finite(path: Path) -> Callable[[str], Any]:
    def refuse(text: str) -> Any:
        raise InputError(f"{path}: {text} is no number of JSON; allowed: a finite number")

    return refuse


def make_workload(key: str, entry: Any, where: str) -> Workload:
    if not isinstance(entry, dict) or not isinstance(entry.get("input_kwargs"), dict):
        raise InputError(f"{where}.input_kwargs: missing or not an object")
    init = entry.get("init_kwargs")
    if init is not None and not isinstance(init, dict):
        raise InputError(f"{where}.init_kwargs: {init!r} is not an object or null")
    return Workload(key, dict(init or {}), dict(entry["input_kwargs"]))


def read_contract(path: Path, workloads: dict[str, Workload]) -> dict[str, Any]:
    """operator.yaml, checked against its schema and against shapes.json."""
    contract = artifacts.load_yaml(path)
    artifacts.validate(contract, "operator", path)
    if contract["name"] != path.parent.name:
        raise InputError(f"{path}: name: {contract['name']!r} differs from its folder {path.parent.name!r}")
    for group in ("inputs", "outputs"):
        for name, entry in contract[group].items():
            if not set(entry.get("dtype", "float32").split("|")) <= set(ITEMSIZE):  # a workload may choose among some
                known = ", ".join(ITEMSIZE)
                raise InputError(f"{path}: {group}.{name}.dtype: {entry['dtype']!r} is not known; allowed: {known}")
    for set_name, ids in contract.get("workload_sets", {}).items():
        missing = [key for key in ids if key not in workloads]
        if missing:
            raise InputError(f"{path}: workload_sets.{set_name}: {', '.join(missing)} not in shapes.json")
    for field, group in (("mutates", "inputs"), ("tolerance", "outputs"), ("aliases", "outputs")):
        for name in contract.get(field, ()):
            if name not in contract[group]:
                raise InputError(f"{path}: {field}: {name!r} is no name of {group}: {', '.join(contract[group])}")
    for output, target in contract.get("aliases", {}).items():
        if target not in contract["inputs"]:
            known = ", ".join(contract["inputs"])
            raise InputError(f"{path}: aliases.{output}: {target!r} is no name of inputs: {known}")
    clash = sorted(set(contract.get("edge_workloads", {})) & set(workloads))
    if clash:
        raise InputError(f"{path}: edge_workloads.{clash[0]}: the id is taken in shapes.json")
    return contract


def bare_contract(directory: Path, reference: Any) -> dict[str, Any]:
    """A contract from the three files alone."""
    forward = source.method(reference, "Model", "forward")
    if forward is None:
        raise InputError(f"{directory / 'reference.py'}: class Model has no method forward")
    metadata_file = directory / "metadata.json"
    metadata = artifacts.read_json(metadata_file) if metadata_file.is_file() else {}

    def declared(names: list[str], dtypes: Any) -> dict[str, dict[str, Any]]:
        known = dtypes if isinstance(dtypes, dict) else {}
        given = {name: str(known.get(name, "unknown")) for name in names}
        return {name: {"dtype": DTYPE_NAMES.get(dtype, dtype)} for name, dtype in given.items()}

    outputs = metadata.get("output_dtypes")
    return {
        "name": directory.name,
        "summary": f"{directory.name}, as its reference.py defines it",
        "inputs": declared(source.argument_names(forward), metadata.get("input_dtypes")),
        "outputs": declared(list(outputs) if isinstance(outputs, dict) else [], outputs),
        "axes": {},
    }


def build(directory: Path, workloads: dict[str, Workload], contract: dict[str, Any]) -> Operator:
    edge = contract.get("edge_workloads", {})
    where = f"{directory / 'operator.yaml'}: edge_workloads"
    extra = [path for name in ("shapes.json", "operator.yaml", "metadata.json") if (path := directory / name).is_file()]
    return Operator(
        name=contract["name"],
        layout="native",
        directory=directory,
        source=directory,
        summary=contract["summary"],
        inputs=contract["inputs"],
        outputs=contract["outputs"],
        workloads=workloads,
        files=tuple(sorted([*directory.glob("*.py"), *extra])),
        reference_name="Model",
        candidate_name="Model",
        family=contract.get("family"),
        mutates=tuple(contract.get("mutates", ())),
        aliases=contract.get("aliases", {}),
        deterministic=contract.get("deterministic", True),
        oracle=contract.get("oracle", "float64"),
        tolerance=contract.get("tolerance", {}),
        value_regimes=tuple(contract.get("value_regimes", DEFAULT_REGIMES)),
        workload_sets=contract.get("workload_sets", {}),
        edge_workloads={key: make_workload(key, entry, f"{where}.{key}") for key, entry in edge.items()},
        axes=contract["axes"],
        traffic=contract.get("traffic", {}),
        details=read_agent_problem(directory),
    )


def read_agent_problem(directory: Path) -> dict[str, Any]:
    """The optional public contract that agents see in production mode instead of the exact shapes."""
    path = directory / "agent_problem.json"
    if not path.is_file():
        return {}
    problem = artifacts.read_json(path)
    declared = problem.get("schema_version", problem.get("schema")) if isinstance(problem, dict) else None
    if declared != "atrex.agent_problem.v1":
        raise InputError(f"{path}: schema_version: {declared!r} is not 'atrex.agent_problem.v1'")
    contract = problem.get("benchmark_contract") or {}
    return {"agent_problem": problem, "distributed": contract.get("distributed_evaluation")}
