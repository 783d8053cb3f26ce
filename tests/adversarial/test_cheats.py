"""Every cheat in cheats/ is refused for the reason that expected.yaml names."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from kernelwright import artifacts
from kernelwright.judge import client
from kernelwright.judge.request import JudgeRequest

HERE = Path(__file__).parent
OPERATOR = HERE / "operator"
HONEST = HERE.parent / "honest" / "kernels" / "centred_scale.py"
EXPECTED = yaml.safe_load((HERE / "expected.yaml").read_text())


def test_table_and_folder_name_the_same_cheats() -> None:
    assert sorted(EXPECTED) == sorted(path.stem for path in (HERE / "cheats").glob("*.py"))


def judged(candidate: Path, case: dict) -> dict:
    request = JudgeRequest(
        operator_dir=str(OPERATOR),
        candidate=str(candidate),
        platform="cpu",
        framework=case.get("framework"),
        mode=case.get("mode", "leaderboard"),
        depth=case.get("depth", "correctness"),
        against=str(HONEST) if case.get("against") else None,
        contenders=(),
        seeds=2,
        samples=16,
        call_timeout_s=5,
        compile_timeout_s=case.get("compile_timeout_s", 60),
    )
    return client.evaluate(request)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_cheat_is_refused(name: str, tmp_path: Path) -> None:
    source = (HERE / "cheats" / f"{name}.py").read_text().replace("{{OPERATOR}}", str(OPERATOR))
    candidate = tmp_path / "kernel.py"
    candidate.write_text(source)
    verdict = judged(candidate, EXPECTED[name])
    verdict.pop("facts")
    (OPERATOR / "verdict.json").unlink(missing_ok=True)
    if EXPECTED[name].get("walls") and verdict["isolation"]["level"] != "namespaces":
        pytest.skip("this machine gives no namespaces")
    assert verdict["status"] in ("rejected", "failed"), verdict["sentence"]
    assert verdict["reason"] in EXPECTED[name]["reasons"], (
        f"{verdict['reason']}: {verdict['sentence']}\n{verdict['log']}"
    )
    artifacts.write(tmp_path / "verdict.json", "verdict", verdict)
