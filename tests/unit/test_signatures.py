import json
from pathlib import Path

import pytest
from kernelwright import operators, signatures
from kernelwright.errors import InputError
from kernelwright.operators import inspection

REFERENCE = (
    "from torch import nn\nclass Model(nn.Module):\n    def forward(self, x, n, flag):\n        return x + n, x.sum()\n"
)


def operator(tmp_path: Path, body: str, **workloads: dict) -> operators.Operator:
    folder = tmp_path / "op"
    folder.mkdir()
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "input.py").write_text(f"import torch\ndef _make_inputs(rows):\n{body}")
    table = {key: {"init_kwargs": None, "input_kwargs": kwargs} for key, kwargs in workloads.items()}
    (folder / "shapes.json").write_text(json.dumps(table))
    return operators.load(folder)


def test_published_sizes_are_seen_without_allocating() -> None:
    found = operators.load(operators.find("per_token_group_quant_fp8"))
    table = signatures.collect(found, ["9", "cpu_1x2048"])
    assert table["9"]["args"]["x"] == {
        "shape": [3087168, 2048],
        "stride": [2048, 1],
        "dtype": "bfloat16",
        "layout": "contiguous",
    }
    assert table["9"]["input_bytes"] == 3087168 * 2048 * 2
    assert table["9"]["init"] == {"group_size": 128}


def test_strides_scalars_and_outputs(tmp_path: Path) -> None:
    body = "    return {'x': torch.randn(4, rows).T, 'n': rows, 'flag': True}\n"
    found = operator(tmp_path, body, a={"rows": 3})
    entry = inspection.in_child(found, ["a"], with_outputs=True)["a"]
    assert entry["args"]["x"] == {"shape": [3, 4], "stride": [1, 3], "dtype": "float32", "layout": "strided"}
    assert entry["args"]["n"] == {"value": 3}
    assert entry["args"]["flag"] == {"value": True}
    assert entry["input_bytes"] == 48
    assert entry["outputs"]["out1"]["shape"] == []


def test_builder_that_needs_values_runs_for_real(tmp_path: Path) -> None:
    body = "    m = int(torch.ones(rows).sum().item())\n    return {'x': torch.ones(m, 2), 'n': 1.5, 'flag': None}\n"
    found = operator(tmp_path, body, a={"rows": 6})
    assert signatures.collect(found, ["a"])["a"]["args"]["x"]["shape"] == [6, 2]


def test_large_builder_that_needs_values_is_refused(tmp_path: Path) -> None:
    body = "    m = int(torch.ones(rows).sum().item())\n    return {'x': torch.ones(m, 2), 'n': 1, 'flag': None}\n"
    found = operator(tmp_path, body, a={"rows": 6})
    contract = (
        "schema_version: 1\nname: op\nsummary: s\naxes: {rows: rows * 1000000000}\n"
        "inputs: {x: {dtype: float32, shape: [rows, 2]}, n: {scalar: int}, flag: {scalar: bool}}\n"
        "outputs: {y: {dtype: float32, shape: [rows]}}\n"
    )
    (found.directory / "operator.yaml").write_text(contract)
    with pytest.raises(InputError, match=r"the input builder needs values .* 48000000000 bytes"):
        signatures.collect(operators.load(found.directory), ["a"])


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("    raise ValueError('no such rows')\n", "no such rows"),
        ("    return 3\n", "_make_inputs returned int"),
        ("    return {'x': object()}\n", "an input is a object"),
        ("    import os; os._exit(3)\n", "exit code 3"),
    ],
)
def test_failures_of_the_builder_are_one_line(tmp_path: Path, body: str, line: str) -> None:
    found = operator(tmp_path, body, a={"rows": 1})
    with pytest.raises(InputError) as caught:
        signatures.collect(found, ["a"])
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
