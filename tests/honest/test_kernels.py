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
    folder = CENTRED if case["operator"] == "centred" else paths.operators_dir() / case["operator"]
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
