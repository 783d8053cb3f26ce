"""Every kernel in kernels/ is accepted: a judge that refuses honest work is as useless as one that can be fooled."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from kernelwright import artifacts, paths
from kernelwright.judge import client
from kernelwright.judge.request import JudgeRequest

HERE = Path(__file__).parent
CENTRED = HERE.parent / "adversarial" / "operator"
KERNELS = yaml.safe_load((HERE / "kernels.yaml").read_text())


def test_table_and_folder_name_the_same_kernels() -> None:
    assert sorted(KERNELS) == sorted(path.stem for path in (HERE / "kernels").glob("*.py"))


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_honest_kernel_is_accepted(name: str, tmp_path: Path) -> None:
    case = KERNELS[name]
    known = {"centred": CENTRED, "1_Fourier.py": HERE / "1_Fourier.py"}
    folder = known.get(case["operator"], paths.operators_dir() / case["operator"])
    request = JudgeRequest(
        operator_dir=str(folder),
        candidate=str(HERE / "kernels" / f"{name}.py"),
        platform="cpu",
        framework=case.get("framework"),
        mode=case.get("mode", "leaderboard"),
        workloads=tuple(case["workloads"]) if "workloads" in case else None,
        depth=case.get("depth", "correctness"),
        seeds=2,
        samples=6,
    )
    verdict = client.evaluate(request)
    facts = verdict.pop("facts")
    assert verdict["status"] == "accepted", f"{verdict['reason']}: {verdict['sentence']}\n{verdict['log']}"
    assert all(entry["passed"] for entry in verdict["correctness"]["workloads"].values())
    assert facts["seeds"] and len(set(facts["seeds"])) == len(facts["seeds"])
    artifacts.write(tmp_path / "verdict.json", "verdict", verdict, **facts)
    if case.get("depth") == "full":
        assert set(verdict["timing"]["geomean"]) == {"reference"}
        assert all(len(entry["candidate"]["samples_us"]) == 6 for entry in verdict["timing"]["workloads"].values())


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbf", b"# -*- coding: latin-1 -*-\nassert len('\xfc') == 1\n", b"import os\r\n"],
    ids=["byte order mark", "latin-1", "carriage returns"],
)
def test_any_encoding_of_python_is_read(data: bytes, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_bytes(data + (HERE / "kernels" / "centred_scale.py").read_bytes())
    verdict = client.evaluate(JudgeRequest(str(CENTRED), str(kernel), "cpu", depth="smoke"))
    assert verdict["status"] == "accepted", f"{verdict['reason']}: {verdict['sentence']}\n{verdict['log']}"
