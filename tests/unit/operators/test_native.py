import json
from pathlib import Path

import pytest
from kernelwright import operators
from kernelwright.errors import InputError

REFERENCE = """
from torch import nn

class Model(nn.Module):
    def forward(self, x, scale):
        return x * scale
"""
INPUT = "import torch\ndef _make_inputs(rows):\n    return {'x': torch.randn(rows, 4), 'scale': 2.0}\n"
SHAPES = {
    "a": {"init_kwargs": None, "input_kwargs": {"rows": 3}},
    "b": {"init_kwargs": {}, "input_kwargs": {"rows": 5}},
}
CONTRACT = """
schema_version: 1
name: scaled
summary: x times a number
axes: {rows: rows}
inputs: {x: {dtype: float32, shape: [rows, 4]}, scale: {scalar: float}}
outputs: {out: {dtype: float32, shape: [rows, 4]}}
workload_sets: {cpu: [a]}
edge_workloads: {one: {init_kwargs: null, input_kwargs: {rows: 1}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "scaled"
    path.mkdir()
    (path / "reference.py").write_text(REFERENCE)
    (path / "input.py").write_text(INPUT)
    (path / "shapes.json").write_text(json.dumps(SHAPES))
    return path


def test_three_files_are_an_operator(folder: Path) -> None:
    operator = operators.load(folder)
    assert (operator.name, operator.layout) == ("scaled", "native")
    assert list(operator.inputs) == ["x", "scale"]
    assert operator.workload_ids("published") == ["a", "b"]
    assert operator.workload("a").init_kwargs == {}


def test_contract(folder: Path) -> None:
    (folder / "operator.yaml").write_text(CONTRACT)
    operator = operators.load(folder)
    assert operator.workload_ids("cpu") == ["a"]
    assert operator.workload_ids("published") == ["b"]
    assert operator.workload_ids("no_such_set") == ["a", "b"]
    assert operator.axis_values(operator.workload("one")) == {"rows": 1}
    assert operator.shape_of(operator.outputs["out"], {"rows": 5}, "out") == (5, 4)
    with pytest.raises(InputError, match="allowed: a, b, one"):
        operator.workload("c")


def test_digest_follows_every_file(folder: Path) -> None:
    seen = {operators.load(folder).digest()}
    edits = {
        "operator.yaml": CONTRACT,
        "helper.py": "A = 1\n",
        "input.py": INPUT + "\n",
        "reference.py": REFERENCE + "\n",
    }
    for name, text in edits.items():
        (folder / name).write_text(text)
        seen.add(operators.load(folder).digest())
    assert len(seen) == 5
    (folder / "README.md").write_text("words")
    assert operators.load(folder).digest() in seen


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"input.py": None}, "without input.py"),
        ({"reference.py": "class Other: pass\n"}, "reference.py: does not define Model"),
        ({"reference.py": "class Model(:\n"}, "reference.py:1: not valid Python"),
        ({"reference.py": "class Model: pass\n"}, "no method forward"),
        ({"input.py": "x = 1\n"}, "input.py: does not define _make_inputs"),
        ({"shapes.json": "[]"}, "shapes.json: must be an object"),
        ({"shapes.json": "{}"}, "no workload"),
        ({"shapes.json": '{"a": {"init_kwargs": 1, "input_kwargs": {}}}'}, "a.init_kwargs: 1 is not"),
        ({"shapes.json": '{"a": {}}'}, "a.input_kwargs: missing"),
        ({"shapes.json": "{"}, "not valid JSON"),
        ({"operator.yaml": CONTRACT.replace("name: scaled", "name: other")}, "differs from its folder"),
        ({"operator.yaml": CONTRACT.replace("cpu: [a]", "cpu: [z]")}, "workload_sets.cpu: z not in shapes.json"),
        ({"operator.yaml": CONTRACT + "mutates: [y]\n"}, "mutates: 'y' is no name of inputs: x, scale"),
        ({"operator.yaml": CONTRACT + "aliases: {out: y}\n"}, "aliases.out: 'y' is no name of inputs"),
        ({"operator.yaml": CONTRACT + "speed: 3\n"}, "unknown key 'speed'"),
        ({"operator.yaml": CONTRACT.replace("one:", "b:")}, "edge_workloads.b: the id is taken"),
        ({"agent_problem.json": '{"schema_version": "v9"}'}, "agent_problem.json: schema_version: 'v9'"),
    ],
)
def test_refusals_name_file_and_field(folder: Path, change: dict[str, str | None], line: str) -> None:
    for name, text in change.items():
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(text)
    with pytest.raises(InputError) as caught:
        operators.load(folder)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_loading_runs_no_code(folder: Path) -> None:
    (folder / "reference.py").write_text("raise SystemExit('ran')\n" + REFERENCE)
    (folder / "input.py").write_text("raise SystemExit('ran')\n" + INPUT)
    assert operators.load(folder).name == "scaled"


def test_metadata_gives_dtypes_and_outputs(folder: Path) -> None:
    metadata = {"input_dtypes": {"x": "bf16"}, "output_dtypes": {"out": "fp8_e4m3"}}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    operator = operators.load(folder)
    assert operator.inputs["x"] == {"dtype": "bfloat16"}
    assert operator.outputs == {"out": {"dtype": "float8_e4m3fn"}}


def test_unknown_folder_and_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match=r"no known operator layout; it has notes.txt"):
        operators.load(tmp_path)
    with pytest.raises(InputError, match=r"allowed: .*rms_norm"):
        operators.find("no_such_operator")


def test_find_checks_the_name(folder: Path) -> None:
    assert operators.find("scaled", folder) == folder
    with pytest.raises(InputError, match="holds operator 'scaled', not 'other'"):
        operators.find("other", folder)
