import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from kernelwright import artifacts, operators, specs
from kernelwright.knowledge import platforms


def run(tmp_path: Path, *extra: str) -> int:
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"stop": {"target_utilization": 0.9}}))
    argv = ["--operator-dir", str(operators.find("rms_norm")), "--framework", "triton", "--mode", "leaderboard"]
    argv += ["--config", str(config), "--output", str(tmp_path / "specs.json")]
    return specs.main([*argv, *(extra or ("--platform", "h200"))])


def test_artifact(tmp_path: Path) -> None:
    assert run(tmp_path) == 0
    body = artifacts.read(tmp_path / "specs.json", "specs")
    assert body["targets"] == {"utilization": 0.9}
    assert body["operator"]["directory_digest"] == operators.load(operators.find("rms_norm")).digest()
    assert len(body["workloads"]) == 56
    entry = body["workloads"]["27"]
    assert entry["axes"] == {"tokens": 505888, "hidden": 128}
    assert entry["traffic"]["write_bytes"] == 2 * 505888 * 128
    assert entry["traffic"]["source"] == "declared"
    assert entry["floor"]["bound"] == "memory"
    assert body["workloads"]["15"]["floor"]["bound"] == "launch"
    assert body["provenance"]["parents"]["shapes.json"]


def test_unknown_facts_give_no_floor_and_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--platform", "zwm890p") == 0
    body = artifacts.read(tmp_path / "specs.json", "specs")
    assert {entry["floor"]["floor_us"] for entry in body["workloads"].values()} == {None}
    assert {entry["floor"]["bound"] for entry in body["workloads"].values()} == {"unknown"}
    said = capsys.readouterr().err
    assert "platform zwm890p: unknown, left out of the floors: memory_bandwidth_gb_s" in said
    assert "no roofline floor for 56 of 56 workloads" in said


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--platform", "h300"), "platform 'h300' is not known; allowed: auto, a100"),
        (("--platform", "cpu"), "--framework triton: not a framework of cpu; allowed: cpp"),
        (("--platform", "h200", "--operator-dir", "/no/such"), "/no/such: no such operator folder"),
    ],
)
def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], line: str) -> None:
    assert run(tmp_path, *flags) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert not (tmp_path / "specs.json").exists()


def bare(tmp_path: Path, inputs: str) -> operators.Operator:
    folder = tmp_path / "op"
    folder.mkdir()
    (folder / "reference.py").write_text(
        "from torch import nn\n"
        "class Model(nn.Module):\n"
        "    def forward(self, x, y):\n"
        "        return x.float(), x[:, 0]\n"
    )
    (folder / "input.py").write_text(f"import torch\ndef _make_inputs(rows):\n    return {inputs}\n")
    (folder / "shapes.json").write_text(json.dumps({"a": {"init_kwargs": None, "input_kwargs": {"rows": 10}}}))
    return operators.load(folder)


def test_counted_traffic(tmp_path: Path) -> None:
    operator = bare(tmp_path, "{'x': torch.ones(rows, 4, dtype=torch.bfloat16), 'y': 2.0}")
    counted = specs.traffic(operator, ["a"])["a"]
    assert counted == {"read_bytes": 80, "write_bytes": 160 + 20, "flops": None, "source": "counted"}


def test_reads_of_an_operator_with_indices_are_unknown(tmp_path: Path) -> None:
    operator = bare(tmp_path, "{'x': torch.ones(rows, 4), 'y': torch.arange(rows)}")
    counted = specs.traffic(operator, ["a"])["a"]
    assert counted == {"read_bytes": None, "write_bytes": 160 + 40, "flops": None, "source": "counted"}


def test_reference_that_cannot_be_inspected_leaves_writes_unknown(tmp_path: Path) -> None:
    operator = bare(tmp_path, "{'x': torch.ones(rows), 'y': 1}")  # x[:, 0] fails
    assert specs.traffic(operator, ["a"])["a"]["write_bytes"] is None


def test_light_step_does_not_import_torch() -> None:
    modules = "kernelwright.specs, kernelwright.signatures, kernelwright.buckets"
    code = f"import sys, {modules}; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_body_for_every_operator_and_accelerator() -> None:
    for name in operators.available():
        operator = operators.load(operators.find(name))
        body = specs.build(operator, platforms.load("h200"), "triton", "production", None)
        assert all(entry["floor"]["floor_us"] > 0 for entry in body["workloads"].values())
