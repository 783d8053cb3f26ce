"""Numbers decide what an operator is; its name does not."""

from __future__ import annotations

import textwrap

import pytest
from kernelwright import operators
from kernelwright.errors import KernelwrightError
from kernelwright.search import recognise

INPUT = """
import torch

def _make_inputs(rows: int, hidden: int):
    return {"x": torch.randn(rows, hidden), "w": torch.randn(hidden)}
"""
SHAPES = '{"a": {"init_kwargs": {}, "input_kwargs": {"rows": 5, "hidden": 64}}}'


def operator_of(folder, forward):
    """A native operator without operator.yaml, so without a family."""
    (folder / "input.py").write_text(INPUT)
    (folder / "shapes.json").write_text(SHAPES)
    source = "import torch\nfrom torch import nn\n\nclass Model(nn.Module):\n    def forward(self, x, w):\n"
    (folder / "reference.py").write_text(source + textwrap.indent(textwrap.dedent(forward).strip(), " " * 8) + "\n")
    return operators.load(folder)


@pytest.mark.parametrize("eps", [1e-5, 1e-6])
def test_an_epsilon_is_told_from_its_neighbours(tmp_path, eps):
    operator = operator_of(tmp_path, f"return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + {eps}) * (1 + w)")
    (match,) = recognise.recognise(operator, "cpp")["matches"]
    semantics = match["semantics"]
    assert (match["template"], semantics["statistic"], semantics["eps"]) == ("row_norm", "rms", {"value": eps})
    assert (semantics["eps_place"], semantics["weight_offset"]) == ("inside_root", 1.0)


def test_layer_norm_is_told_from_rms_norm(tmp_path):
    operator = operator_of(tmp_path, "return torch.nn.functional.layer_norm(x, (x.shape[-1],), w, None, 1e-5)")
    (match,) = recognise.recognise(operator, "cpp")["matches"]
    assert match["semantics"]["statistic"] == "layer"


def test_what_only_looks_like_a_norm_is_not_recognised(tmp_path):
    operator = operator_of(tmp_path, "return torch.softmax(x, -1) * w")
    assert recognise.recognise(operator, "cpp")["matches"] == []


def test_a_child_reports_the_reference_that_raises_in_one_line(tmp_path):
    operator = operator_of(tmp_path, "raise RuntimeError('broken reference')")
    with pytest.raises(KernelwrightError, match="broken reference"):
        recognise.in_child(operator.source, "cpp")


def test_the_cache_is_keyed_by_the_operator(tmp_path, monkeypatch):
    (tmp_path / "op").mkdir()
    operator = operator_of(tmp_path / "op", "return x * w")
    runs = []
    monkeypatch.setattr(recognise, "in_child", lambda directory, framework: runs.append(directory) or {"matches": []})
    for _ in range(2):
        assert recognise.cached(operator, "cpp", tmp_path / "cache") == {"matches": []}
    assert len(runs) == 1
    changed = operator_of(tmp_path / "op", "return x + w")
    recognise.cached(changed, "cpp", tmp_path / "cache")
    assert len(runs) == 2
