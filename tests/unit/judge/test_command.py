from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kernelwright import artifacts
from kernelwright.errors import InputError
from kernelwright.judge.__main__ import main
from kernelwright.judge.request import JudgeRequest

ROOT = Path(__file__).resolve().parents[3]
OPERATOR = ROOT / "tests" / "adversarial" / "operator"
KERNEL = ROOT / "tests" / "honest" / "kernels" / "centred_scale.py"
CHEATS = ROOT / "tests" / "adversarial" / "cheats"


def command(candidate: Path, *flags: str) -> list[str]:
    return ["--operator", str(OPERATOR), "--candidate", str(candidate), "--platform", "cpu", *flags]


def test_accepted_is_0_and_writes_a_valid_verdict(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "deep" / "verdict.json"
    assert main(command(KERNEL, "--samples", "4", "--workloads", "small,odd", "--json", str(out))) == 0
    verdict = artifacts.read(out, "verdict")
    assert set(verdict["timing"]["workloads"]) == {"small", "odd"}
    assert verdict["provenance"]["kernel_sha256"] == artifacts.sha256_file(KERNEL)
    assert verdict["isolation"]["level"] in ("namespaces", "process")
    text = capsys.readouterr().out
    assert text.startswith("accepted: ") and "geomean speedup over reference" in text


def test_a_machine_whose_only_ninja_is_the_packages_own_builds_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("c++", "g++", "as", "ld", "sh", "which"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    assert shutil.which("ninja") is None
    kernel = ROOT / "tests" / "honest" / "kernels" / "centred_scale_cpp.py"
    assert main(command(kernel, "--samples", "4", "--workloads", "small")) == 0, capsys.readouterr().out


def test_rejected_is_1_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(command(CHEATS / "zeros.py", "--json", str(tmp_path / "v.json"))) == 1
    assert artifacts.read(tmp_path / "v.json", "verdict")["reason"] == "wrong_values"
    assert "rejected (wrong_values)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--workloads", "nothing"], "no workload 'nothing'"),
        (["--platform", "h900"], "'h900' is not known"),
        (["--platform", "mi300x"], "no amd device on this machine"),
        (["--contenders", "fastest"], "'fastest' is not one of"),
        (["--seeds", "0"], "seeds 0"),
        (["--call-timeout-s", "nan"], "call_timeout_s: nan"),
        (["--compile-timeout-s", "-1"], "compile_timeout_s: -1"),
        (["--min-improvement", "nan"], "min_improvement: nan"),
        (["--confidence", "nan"], "confidence: nan"),
        (["--against", "/none.py"], "--against /none.py: no such file"),
    ],
)
def test_wrong_arguments_are_2_and_one_line(flags: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    if "mi300x" in flags and Path("/dev/kfd").exists():
        pytest.skip("this machine has the device")
    assert main(command(KERNEL, *flags)) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.splitlines()) == 1


def test_request_survives_json_and_names_unknown_keys() -> None:
    import json

    request = JudgeRequest("a", "b", "cpu", workloads=("x",), floors_us={"x": None})
    assert JudgeRequest.from_dict(json.loads(request.to_json())) == request
    with pytest.raises(InputError, match="unknown key sample"):
        JudgeRequest.from_dict({"operator_dir": "a", "candidate": "b", "platform": "cpu", "sample": 3})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_folder_is_left_behind(number: int, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts"), "TMPDIR": str(tmp_path)}
    arguments = command(KERNEL, "--samples", "5000", "--contenders", "none")
    process = subprocess.Popen([sys.executable, "-m", "kernelwright.judge", *arguments], env=environment)
    wait_for(lambda: list(tmp_path.glob("kernelwright-judge-*/candidate-*")))
    process.send_signal(number)
    process.wait(20)
    wait_for(lambda: not list(tmp_path.glob("kernelwright-judge-*")))


def wait_for(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
