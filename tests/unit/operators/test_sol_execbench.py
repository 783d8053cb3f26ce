import json
from pathlib import Path
from typing import Any

import pytest
import torch
from kernelwright import operators
from kernelwright.errors import InputError
from kernelwright.operators import runtime, sol_solution

REFERENCE = """
import torch

def make(axes_and_scalars, device):
    rows = axes_and_scalars["rows"]
    return {"x": torch.full((rows, 8), 2.0, device=device), "index": torch.arange(rows, device=device), "eps": 0.5}

def run(x, index, eps):
    return x.view(x.shape[0], 2, 4)[index] + eps
"""
DEFINITION: dict[str, Any] = {
    "name": "split_rows",
    "description": "Rows in heads.\nMore words.",
    "axes": {
        "head": {"type": "expr", "expression": "width // heads"},
        "rows": {"type": "var"},
        "width": {"type": "const", "value": 8},
        "heads": {"type": "const", "value": 2},
    },
    "inputs": {
        "x": {"shape": ["rows", "width"], "dtype": "float32"},
        "index": {"shape": ["rows"], "dtype": "int64"},
        "eps": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["rows", "heads", "head"], "dtype": "float32"}},
    "reference": REFERENCE,
    "custom_inputs_entrypoint": "make",
}
CUSTOM = {"type": "custom"}
WORKLOADS: list[dict[str, Any]] = [
    {"uuid": "w0", "axes": {"rows": 3}, "inputs": {"x": CUSTOM, "index": CUSTOM, "eps": CUSTOM}},
    {
        "uuid": "w1",
        "axes": {"rows": 5},
        "inputs": {"x": {"type": "random"}, "index": CUSTOM, "eps": {"type": "scalar", "value": 0.25}},
        "tolerance": {"max_atol": 0.5, "required_matched_ratio": 0.9},
    },
]


def write(folder: Path, definition: dict[str, Any] = DEFINITION, workloads: list[dict[str, Any]] = WORKLOADS) -> Path:
    (folder / "definition.json").write_text(json.dumps(definition))
    (folder / "workload.jsonl").write_text("\n".join(json.dumps(item) for item in workloads) + "\n")
    return folder


def changed(value: Any, path: str, new: Any) -> Any:
    copy = json.loads(json.dumps(value))
    node = copy
    *parents, last = path.split(".")
    for key in parents:
        node = node[int(key) if isinstance(node, list) else key]
    if new is None:
        del node[last]
    else:
        node[last] = new
    return copy


def test_contract(tmp_path: Path) -> None:
    operator = operators.load(write(tmp_path))
    assert (operator.name, operator.layout, operator.reference_name) == ("split_rows", "sol_execbench", "run")
    assert operator.summary == "Rows in heads."
    assert operator.inputs["eps"] == {"scalar": "float32"}
    axes = operator.axis_values(operator.workload("w1"))
    assert axes == {"rows": 5, "width": 8, "heads": 2, "head": 4}
    assert operator.shape_of(operator.outputs["y"], axes, "y") == (5, 2, 4)


def test_tolerance_is_kept(tmp_path: Path) -> None:
    operator = operators.load(write(tmp_path))
    assert operator.details["tolerance"]["w0"]["max_rtol"] == 1e-2
    assert operator.details["tolerance"]["w1"]["max_atol"] == 0.5
    assert operator.tolerance["y"]["atol"] == 0.5
    assert operator.tolerance["y"]["max_mismatch_ratio"] == pytest.approx(0.1)


def test_inputs_of_each_type(tmp_path: Path) -> None:
    operator = operators.load(write(tmp_path))
    run = runtime.Runtime(operator)
    inputs = run.build_inputs(operator.workload("w1"), 3, "cpu")
    assert list(inputs) == ["x", "index", "eps"]
    assert inputs["eps"] == 0.25
    assert inputs["x"].std() > 0.3  # random, not the builder's constant
    assert torch.equal(inputs["x"], run.build_inputs(operator.workload("w1"), 3, "cpu")["x"])
    assert not torch.equal(inputs["x"], run.build_inputs(operator.workload("w1"), 4, "cpu")["x"])
    outputs = run.reference(operator.workload("w0"), "cpu")(**run.build_inputs(operator.workload("w0"), 0, "cpu"))
    assert torch.equal(outputs["y"], torch.full((3, 2, 4), 2.5))


def test_safetensors(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.torch")
    numpy.save_file({"x": torch.ones(3, 8)}, tmp_path / "data.safetensors")
    source = {"type": "safetensors", "path": "data.safetensors", "tensor_key": "x"}
    operator = operators.load(write(tmp_path, workloads=changed(WORKLOADS[:1], "0.inputs.x", source)))
    assert torch.equal(runtime.Runtime(operator).build_inputs(operator.workload("w0"), 0, "cpu")["x"], torch.ones(3, 8))
    assert tmp_path / "data.safetensors" in operator.files


@pytest.mark.parametrize(
    ("path", "new", "line"),
    [
        ("name", None, "definition.json: name: missing"),
        ("axes.rows.type", "free", "axes.rows.type: 'free' is not one of const, var, expr"),
        ("axes.width.value", "8", "axes.width.value: '8' is not a whole number"),
        ("inputs.x.shape", ["cols"], "inputs.x.shape: 'cols' is no axis"),
        ("outputs.y.dtype", "float7", "outputs.y.dtype: 'float7' is not known"),
        ("reference", "def other(): pass", "reference: does not define run"),
        ("reference", "def run(:", "reference:1: not valid Python"),
        ("custom_inputs_entrypoint", "absent", "custom_inputs_entrypoint (in reference): does not define absent"),
        ("axes.width", {"type": "expr", "expression": "head * 2"}, "refer to each other"),
    ],
)
def test_definition_refusals(tmp_path: Path, path: str, new: Any, line: str) -> None:
    with pytest.raises(InputError) as caught:
        operators.load(write(tmp_path, changed(DEFINITION, path, new)))
    assert line in str(caught.value)


@pytest.mark.parametrize(
    ("path", "new", "line"),
    [
        ("0.uuid", None, "workload.jsonl:1: uuid: missing"),
        ("1.uuid", "w0", "workload.jsonl:2: uuid: 'w0' is used twice"),
        ("0.axes.rows", 1.5, "axes.rows: 1.5 is not a whole number"),
        ("0.inputs.x", None, "inputs.x: missing"),
        ("0.inputs.x", {"type": "file"}, "inputs.x.type: 'file' is not one of"),
        ("0.inputs.x", {"type": "safetensors", "path": "a"}, "inputs.x.tensor_key: missing"),
        ("0.inputs.x", {"type": "safetensors", "path": "a", "tensor_key": "k"}, "no such file"),
        ("0.inputs.z", {"type": "random"}, "inputs.z: not declared"),
        ("0.tolerance", {"atol": 1}, "tolerance.atol: unknown"),
    ],
)
def test_workload_refusals(tmp_path: Path, path: str, new: Any, line: str) -> None:
    with pytest.raises(InputError) as caught:
        operators.load(write(tmp_path, workloads=changed(WORKLOADS, path, new)))
    assert line in str(caught.value)


def solution(**spec: Any) -> dict[str, Any]:
    code = "def entry(x, index, eps, y):\n    y.copy_(x.view(x.shape[0], 2, 4)[index] + eps)\n"
    spec = {"language": "triton", "target_hardware": ["cpu"], "entry_point": "main.py::entry", **spec}
    sources = [{"path": "main.py", "content": code}]
    return {"name": "s", "definition": "split_rows", "author": "a", "spec": spec, "sources": sources}


def test_destination_passing_solution_becomes_a_candidate(tmp_path: Path) -> None:
    operator = operators.load(write(tmp_path))
    (tmp_path / "solution.json").write_text(json.dumps(solution()))
    found = sol_solution.read(tmp_path / "solution.json")
    assert found.languages == ("triton",)
    assert found.destination_passing
    kernel = tmp_path / "kernel.py"
    kernel.write_text(sol_solution.candidate_source(found, operator))
    run = runtime.Runtime(operator)
    inputs = run.build_inputs(operator.workload("w1"), 1, "cpu")
    candidate = run.candidate(runtime.import_file(kernel, "sol_candidate"), operator.workload("w1"), "cpu")
    torch.testing.assert_close(candidate(**inputs), run.reference(operator.workload("w1"), "cpu")(**inputs))


def test_written_solution_reads_back(tmp_path: Path) -> None:
    operator = operators.load(write(tmp_path))
    code = "def run(x, index, eps):\n    return x\n"
    sol_solution.write(tmp_path / "solution.json", operator, code, "triton", ["NVIDIA_H200"])
    found = sol_solution.read(tmp_path / "solution.json")
    assert (found.definition, found.entry_function, found.destination_passing) == ("split_rows", "run", False)
    assert sol_solution.candidate_source(found, operator) == code


@pytest.mark.parametrize(
    ("path", "new", "line"),
    [
        ("spec", None, "spec: missing"),
        ("author", None, "author: missing"),
        ("spec.language", None, "spec.languages: missing"),
        ("spec.entry_point", "other.py::run", "spec.entry_point: 'other.py::run'"),
        ("sources", [], "sources: missing or empty"),
        ("sources", [{"path": "../x.py", "content": ""}], "leaves the solution's folder"),
    ],
)
def test_solution_refusals(tmp_path: Path, path: str, new: Any, line: str) -> None:
    (tmp_path / "solution.json").write_text(json.dumps(changed(solution(), path, new)))
    with pytest.raises(InputError) as caught:
        sol_solution.read(tmp_path / "solution.json")
    assert line in str(caught.value)
