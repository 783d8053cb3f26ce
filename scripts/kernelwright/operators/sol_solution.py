"""SOL-ExecBench's solution.json: read one as a candidate, write one from a finished kernel. Runs no code of either.

A solution's function gets its arguments by position; in destination-passing style the outputs come last, already
allocated. `candidate_source` turns both styles into one kernel file whose `run` returns its outputs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.errors import InputError
from kernelwright.operators import source
from kernelwright.operators.model import Operator

BY_FRAMEWORK = {"triton": "triton", "gluon": "triton", "cutedsl": "cute_dsl", "cuda": "cuda_cpp", "cpp": "python"}


@dataclass(frozen=True)
class Solution:
    name: str
    definition: str
    author: str
    languages: tuple[str, ...]
    entry_file: str
    entry_function: str
    destination_passing: bool
    sources: dict[str, str]


def read(path: Path) -> Solution:
    """Parse solution.json; the older field `language` counts as one language. Raises InputError naming the field."""
    body = artifacts.read_json(path)
    spec = body.get("spec") if isinstance(body, dict) else None
    if not isinstance(spec, dict):
        raise InputError(f"{path}: spec: missing or not an object")
    for key in ("name", "definition", "author"):
        if not isinstance(body.get(key), str):
            raise InputError(f"{path}: {key}: missing or not text")
    languages = spec.get("languages", [spec["language"]] if "language" in spec else None)
    if not isinstance(languages, list) or not languages:
        raise InputError(f"{path}: spec.languages: missing; a list of languages, or `language` with one")
    file, separator, function = str(spec.get("entry_point", "")).partition("::")
    sources = read_sources(path, body.get("sources"))
    if not separator or file not in sources or not function:
        given, files = spec.get("entry_point"), ", ".join(sources)
        raise InputError(f"{path}: spec.entry_point: {given!r} is not FILE::FUNCTION of one of {files}")
    passing = bool(spec.get("destination_passing_style", True))
    names = tuple(str(language) for language in languages)
    return Solution(body["name"], body["definition"], body["author"], names, file, function, passing, sources)


def read_sources(path: Path, entries: Any) -> dict[str, str]:
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: sources: missing or empty")
    sources: dict[str, str] = {}
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in ("path", "content")):
            raise InputError(f"{path}: sources.{index}: needs the texts path and content")
        if Path(entry["path"]).is_absolute() or ".." in Path(entry["path"]).parts:
            raise InputError(f"{path}: sources.{index}.path: {entry['path']!r} leaves the solution's folder")
        sources[entry["path"]] = entry["content"]
    return sources


def candidate_source(solution: Solution, operator: Operator) -> str:
    """One Python file with a `run` that takes the inputs by name and returns the outputs.

    Raises InputError for a solution of several files or of a compiled language: such a one has no single kernel file.
    """
    if len(solution.sources) != 1 or not solution.entry_file.endswith(".py"):
        files = ", ".join(solution.sources)
        raise InputError(f"solution {solution.name}: {files}: only solutions of one Python file can be judged")
    text = solution.sources[solution.entry_file]
    source.require(source.parse(text, solution.entry_file), (solution.entry_function,), solution.entry_file)
    if solution.entry_function == "run" and not solution.destination_passing:
        return text
    return f"{text.rstrip()}\n\n\n{adapter(solution, operator)}"


def adapter(solution: Solution, operator: Operator) -> str:
    """Source of a `run` around the solution's function; with destination passing it allocates the outputs."""
    inputs = ", ".join(operator.inputs)
    lines = [f"_entry = {solution.entry_function}", "", "", f"def run({inputs}):"]
    if not solution.destination_passing:
        return "\n".join([*lines, f"    return _entry({inputs})"]) + "\n"
    tensors = [name for name, entry in operator.inputs.items() if "shape" in entry]
    lines += ["    import torch", ""]
    lines += [f"    {axis} = {value}" for axis, value in axis_sources(operator).items()]
    for name, entry in operator.outputs.items():
        if "scalar" in entry:
            raise InputError(f"solution {solution.name}: destination passing cannot return the scalar output {name!r}")
        shape = "".join(f"{size}, " for size in entry["shape"])
        lines.append(f"    {name} = torch.empty(({shape}), dtype=torch.{entry['dtype']}, device={tensors[0]}.device)")
    outputs = ", ".join(operator.outputs)
    lines += [f"    _entry({', '.join([*operator.inputs, *operator.outputs])})", f"    return {outputs}"]
    return "\n".join(lines) + "\n"


def axis_sources(operator: Operator) -> dict[str, str]:
    """Axis -> Python expression: a constant, a dimension of an input, or the axis's own expression."""
    found: dict[str, str] = {}
    definition = operator.details["definition"]["axes"]
    for axis in operator.axes:  # in an order in which each uses only earlier ones
        kind = definition[axis]["type"]
        if kind == "const":
            found[axis] = str(definition[axis]["value"])
        elif kind == "expr":
            found[axis] = f"int({definition[axis]['expression']})"
        else:
            places = [(n, e["shape"].index(axis)) for n, e in operator.inputs.items() if axis in e.get("shape", ())]
            if places:
                found[axis] = f"{places[0][0]}.shape[{places[0][1]}]"
    return found


def write(
    path: Path,
    operator: Operator,
    kernel: str,
    framework: str,
    hardware: list[str],
    author: str = "kernelwright",
) -> None:
    """Write a solution that can be submitted, from a kernel file whose `run` returns its outputs."""
    body = {
        "name": f"{operator.name}_{framework}",
        "definition": operator.name,
        "author": author,
        "spec": {
            "languages": [BY_FRAMEWORK.get(framework, framework)],
            "target_hardware": hardware,
            "entry_point": "kernel.py::run",
            "dependencies": ["torch"],
            "destination_passing_style": False,
        },
        "sources": [{"path": "kernel.py", "content": kernel}],
    }
    artifacts.write_text(path, json.dumps(body, indent=1) + "\n")
