"""baseline: the reference as a candidate, in each layout."""

from __future__ import annotations

import ast
import json

import pytest
from kernelwright import baseline, operators


def test_native_reference_is_copied(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    head = "from __future__ import annotations\nimport torch\n\n"
    source = head + "class Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    (folder / "reference.py").write_text(source)
    (folder / "input.py").write_text("def _make_inputs(rows):\n    return {}\n")
    (folder / "shapes.json").write_text(json.dumps({"w0": {"init_kwargs": None, "input_kwargs": {"rows": 1}}}))
    text = baseline.kernel_source(operators.load(folder))
    assert text.endswith(source) and text.startswith("# V0: the reference of operator tiny")
    ast.parse(text)


def test_kernelbench_model_becomes_modelnew(tmp_path):
    path = tmp_path / "relu.py"
    path.write_text(
        "import torch\n\nclass Model(torch.nn.Module):\n    'Model text'\n"
        "    def __init__(self):\n        super(Model, self).__init__()\n"
        "    def forward(self, x):\n        return torch.relu(x)\n\ndef get_inputs():\n    return [torch.rand(2)]\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    text = baseline.kernel_source(operators.load(path))
    assert "class ModelNew(torch.nn.Module)" in text and "super(ModelNew, self)" in text and "'Model text'" in text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Model = Model(Model)\n", "ModelNew = ModelNew(ModelNew)\n"),
        ("x = 'Model'  # Model\n", "x = 'Model'  # Model\n"),
    ],
)
def test_renamed_touches_names_alone(source, expected):
    assert baseline.renamed(source, "Model", "ModelNew") == expected
