"""Operators that are no sound problem are refused, whatever the candidate."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.errors import InputError
from kernelwright.judge import client
from kernelwright.judge.request import JudgeRequest

CONTRACT = """
schema_version: 1
name: {name}
summary: A test.
axes: {{n: n}}
inputs:
  x: {{dtype: float32, shape: [n, n]}}
  y: {{dtype: float32, shape: [n, n]}}
outputs:
  out: {{dtype: float32, shape: [n, n]}}
"""
INPUTS = "import torch\ndef _make_inputs(n):\n    return {'x': torch.randn(n, n), 'y': torch.randn(n, n)}\n"
REFERENCE = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x, y):\n        return {expression}\n"


def verdict(tmp_path: Path, expression: str, inputs: str = INPUTS, extra: str = "") -> dict:
    folder = tmp_path / "sample"
    folder.mkdir()
    (folder / "operator.yaml").write_text(CONTRACT.format(name="sample") + extra)
    (folder / "input.py").write_text(inputs)
    (folder / "reference.py").write_text(REFERENCE.format(expression=expression))
    (folder / "shapes.json").write_text('{"one": {"init_kwargs": null, "input_kwargs": {"n": 8}}}')
    candidate = tmp_path / "kernel.py"
    candidate.write_text(REFERENCE.format(expression=expression))
    return client.evaluate(JudgeRequest(str(folder), str(candidate), "cpu", depth="smoke"))


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("x * 0.0 + y * 0.0", "trivial_answer_passes"),
        ("x.clone() + 0 * y", "trivial_answer_passes"),
        ("x.sin()", "input_without_effect"),
        ("x + 1e-12 * y", "trivial_answer_passes"),
        ("(x + y) / 0.0 * 0.0", "reference_not_finite"),
        ("undefined(x)", "invalid_operator"),
    ],
)
def test_unsound_problem(tmp_path: Path, expression: str, reason: str) -> None:
    found = verdict(tmp_path, expression)
    assert (found["status"], found["reason"]) == ("invalid_problem", reason), found["sentence"]
    assert found["stage"] == "problem"


def test_sound_problem_passes(tmp_path: Path) -> None:
    found = verdict(tmp_path, "x * y + x")
    assert found["status"] == "accepted", found["sentence"]


def test_a_tolerance_that_admits_zeros_is_refused(tmp_path: Path) -> None:
    extra = "tolerance:\n  out: {atol: 100.0, rtol: 0.0, error_budget: 1.0e+12, why: far too wide}\n"
    assert verdict(tmp_path, "x * y", extra=extra)["reason"] == "trivial_answer_passes"


def test_input_builder_that_raises_is_the_operators_fault(tmp_path: Path) -> None:
    found = verdict(tmp_path, "x * y", inputs="def _make_inputs(n):\n    raise ValueError('no')\n")
    assert found["reason"] == "invalid_operator"
    assert "no" in found["sentence"]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("torch.rand(x.shape) + x * y", "is it random"),
        ("[x * y, [x]]", "a list as out1"),
        ("None", "no tensor"),
        ("'text'", "a str as out"),
        ("(x * y).to_sparse()", "torch.sparse_coo"),
        ("(x * y).double()", "float64, operator.yaml declares float32"),
        ("(x * y)[:1]", "[1, 8], operator.yaml declares [8, 8]"),
        ("exit(3)", "SystemExit: 3"),
        ("__import__('os')._exit(4)", "exit code 4"),
    ],
)
def test_what_a_reference_does_wrong_is_named(tmp_path: Path, expression: str, said: str) -> None:
    found = verdict(tmp_path, expression)
    assert (found["reason"], found["stage"]) == ("invalid_operator", "problem")
    assert said in found["sentence"]


def test_a_key_twice_in_shapes_is_wrong_input(tmp_path: Path) -> None:
    verdict(tmp_path, "x * y")
    entry = '{"init_kwargs": null, "input_kwargs": {"n": %s}}'
    for text, said in (
        (f'{{"a": {entry % 4}, "a": {entry % 5}}}', "there twice"),
        (f'{{"a": {entry % "NaN"}}}', "NaN"),
    ):
        (tmp_path / "sample" / "shapes.json").write_text(text)
        with pytest.raises(InputError, match=said):
            client.evaluate(JudgeRequest(str(tmp_path / "sample"), str(tmp_path / "kernel.py"), "cpu", depth="smoke"))
