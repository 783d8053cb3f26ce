"""TorchInductor's lowering of a SOL-ExecBench reference, which is a function and not a model."""

from __future__ import annotations

import ast
import importlib.util
import json
from pathlib import Path

import pytest
from kernelwright import operators, paths
from kernelwright.search import inductor

DEFINITION = {
    "name": "scaled_gelu",
    "axes": {"rows": {"type": "var"}, "hidden": {"type": "const", "value": 64}},
    "inputs": {
        "x": {"shape": ["rows", "hidden"], "dtype": "float32"},
        "scale": {"shape": ["rows"], "dtype": "float32"},
    },
    "outputs": {"out": {"shape": ["rows", "hidden"], "dtype": "float32"}},
    "reference": "import torch\nimport torch.nn.functional as F\n\n\ndef run(x, scale):\n    return F.gelu(x) * scale[:, None]\n",
}
WORKLOAD = {"uuid": "w", "axes": {"rows": 7}, "inputs": {"x": {"type": "random"}, "scale": {"type": "random"}}}


def test_parameters_whose_number_is_open_are_refused() -> None:
    function = ast.parse("def run(*parts): pass").body[0]
    with pytest.raises(inductor.KernelwrightError, match=r"run takes \*args"):
        inductor._parameters(function)


@pytest.mark.slow
def test_the_lowering_defines_the_function_and_agrees_with_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setenv("PATH", paths.search_path())  # ninja may lie beside the interpreter alone
    (tmp_path / "definition.json").write_text(json.dumps(DEFINITION))
    (tmp_path / "workload.jsonl").write_text(json.dumps(WORKLOAD) + "\n")
    operator = operators.load(tmp_path)
    kernel = tmp_path / "kernel.py"
    kernel.write_text(inductor.lower(operator, ["w"], "cpp", "leaderboard"))
    spec = importlib.util.spec_from_file_location("lowered_kernel", kernel)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x, scale = torch.randn(33, 64), torch.randn(33)  # other sizes than the traced ones
    torch.testing.assert_close(module.run(x, scale), torch.nn.functional.gelu(x) * scale[:, None])
