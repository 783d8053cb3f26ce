"""Cheats that must be refused and kernels that must be accepted, on a GPU; and that the judge lives on after each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from kernelwright import artifacts, paths
from kernelwright.judge import client
from kernelwright.judge.request import JudgeRequest

HERE = Path(__file__).parent
CENTRED = HERE.parent / "adversarial" / "operator"
HONEST = yaml.safe_load((HERE / "honest.yaml").read_text())
CHEATS = yaml.safe_load((HERE / "cheats.yaml").read_text())
PLATFORM = os.environ.get("KERNELWRIGHT_TEST_PLATFORM", "h200")
needs_gpu = pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="no NVIDIA device")


def judged(candidate: Path, case: dict[str, Any], **more: Any) -> dict[str, Any]:
    name = case.get("operator", "rms_norm")
    request = JudgeRequest(
        operator_dir=str(CENTRED if name == "centred" else paths.operators_dir() / name),
        candidate=str(candidate),
        platform=PLATFORM,
        framework=case.get("framework"),
        mode=case.get("mode", "leaderboard"),
        workloads=tuple(case["workloads"]) if "workloads" in case else (None if name == "centred" else ("0",)),
        depth=case.get("depth", "correctness"),
        seeds=2,
        samples=8,
        call_timeout_s=5,
        compile_timeout_s=case.get("compile_timeout_s", 120),
        **more,
    )
    return client.evaluate(request)


@pytest.mark.parametrize("kind", ["honest", "cheats"])
def test_tables_and_folders_name_the_same_kernels(kind: str) -> None:
    table = {"honest": HONEST, "cheats": CHEATS}[kind]
    assert sorted(table) == sorted(path.stem for path in (HERE / kind).glob("*.py"))


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("name", list(HONEST))
def test_honest_kernel_is_accepted(name: str, tmp_path: Path) -> None:
    case = HONEST[name]
    verdict = judged(HERE / "honest" / f"{name}.py", case)
    facts = verdict.pop("facts")
    assert verdict["status"] == "accepted", f"{verdict['reason']}: {verdict['sentence']}\n{verdict['log']}"
    artifacts.write(tmp_path / "verdict.json", "verdict", verdict, **facts)
    if case.get("mode") == "production":
        assert verdict["policy"]["own_share"] is None or verdict["policy"]["own_share"] > 0.95
    if case.get("depth") == "full":
        clock = case.get("clock", "device")
        assert all(
            entry["candidate"].get("clock", "wall") == clock for entry in verdict["timing"]["workloads"].values()
        )


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("name", list(CHEATS))
def test_cheat_is_refused(name: str, tmp_path: Path) -> None:
    case = CHEATS[name]
    against = {}
    if "against" in case:
        against = {"against": str(HERE / "honest" / f"{case['against']}.py"), "contenders": ()}
    verdict = judged(HERE / "cheats" / f"{name}.py", case, **against)
    verdict.pop("facts")
    assert verdict["status"] in ("rejected", "failed"), verdict["sentence"]
    assert verdict["reason"] in case["reasons"], f"{verdict['reason']}: {verdict['sentence']}\n{verdict['log']}"
    artifacts.write(tmp_path / "verdict.json", "verdict", verdict)
