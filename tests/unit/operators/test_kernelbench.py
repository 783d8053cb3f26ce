from pathlib import Path

import pytest
import torch
from kernelwright import operators, specs
from kernelwright.errors import InputError
from kernelwright.operators import inspection, runtime

PROBLEM = '''
import torch
import torch.nn as nn

class Model(nn.Module):
    """A linear layer."""
    def __init__(self, width, bias=True):
        super().__init__()
        self.linear = nn.Linear(width, 3, bias=bias)

    def forward(self, x, shift):
        return self.linear(x) + shift

rows = 4

def get_inputs():
    return [torch.rand(rows, 8).cuda(), torch.ones(3, device="cuda")]

def get_init_inputs():
    return INIT
'''
CANDIDATE = PROBLEM.replace("class Model(", "class ModelNew(")


def problem(path: Path, init: str = "[8]") -> Path:
    path.write_text(PROBLEM.replace("INIT", init))
    return path


def test_single_file(tmp_path: Path) -> None:
    operator = operators.load(problem(tmp_path / "12_linear.py"))
    assert (operator.name, operator.layout, operator.candidate_name) == ("12_linear", "kernelbench", "ModelNew")
    assert list(operator.inputs) == ["arg0", "arg1"]
    assert operator.summary == "A linear layer."
    assert operators.load(tmp_path).source == operator.source


@pytest.mark.parametrize("init", ["[8]", "[[8], {'bias': False}]"])
def test_same_weights_in_candidate(tmp_path: Path, init: str) -> None:
    operator = operators.load(problem(tmp_path / "linear.py", init))
    candidate_file = tmp_path / "out" / "kernel.py"
    candidate_file.parent.mkdir()
    candidate_file.write_text(CANDIDATE.replace("INIT", init))
    workload = operator.workload("default")
    run = runtime.Runtime(operator)
    inputs = run.build_inputs(workload, 7, "cpu")
    assert [tuple(value.shape) for value in inputs.values()] == [(4, 8), (3,)]
    reference = run.reference(workload, "cpu")
    candidate = run.candidate(runtime.import_file(candidate_file, "candidate_under_test"), workload, "cpu")
    assert runtime.adopt_weights(candidate.function, reference.function) == []
    torch.testing.assert_close(candidate(**inputs), reference(**inputs), rtol=0, atol=0)
    assert list(reference(**inputs)) == ["out0"]


def test_outputs_are_seen_without_values(tmp_path: Path) -> None:
    operator = operators.load(problem(tmp_path / "linear.py", "[8]"))
    found = inspection.in_child(operator, ["default"], with_outputs=True)["default"]
    assert (found["note"], found["outputs"]["out0"]["shape"]) == ("", [4, 3])
    assert specs.traffic(operator, ["default"])["default"]["write_bytes"] == 4 * 3 * 4


def test_refusals(tmp_path: Path) -> None:
    problem(tmp_path / "a.py")
    problem(tmp_path / "b.py")
    with pytest.raises(InputError, match="2 KernelBench files"):
        operators.load(tmp_path)
    (tmp_path / "c.py").write_text("class Model: pass\n")
    with pytest.raises(InputError, match=r"c.py: does not define get_inputs, get_init_inputs"):
        operators.load(tmp_path / "c.py")
    (tmp_path / "d.py").write_text(PROBLEM.replace("self, x, shift", "self, x"))
    with pytest.raises(InputError, match=r"get_inputs returns 2 values, Model.forward takes 1"):
        operators.load(tmp_path / "d.py")
