"""The live view reads files alone and says what runs, what ended and what broke."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kernelwright import artifacts, watch
from kernelwright.engine import lock
from kernelwright.report import settings
from report.fixture import Builder, build

POLICY = {"max_iters": 6, "token_budget": None, "target_utilization": None, "max_stall": 3, "max_repeated_blockers": 2}


def printed(results: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    assert watch.main(["--results", str(results), "--once", *flags]) == 0
    return capsys.readouterr().out


def test_a_whole_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = build(tmp_path)
    said = printed(tmp_path, capsys)
    assert "rms_norm on cpu, cpp, leaderboard" in said
    assert "++--x" in said
    assert "2.75x" in said
    assert "broke in profile of v003" in said
    assert "report" in said.splitlines()[-2]
    artifacts.write_text(campaign.root / "report.json", "{}")
    assert watch.snapshot(tmp_path, [], None)[1]
    assert "done, report.html is there" in printed(tmp_path, capsys)


def test_the_running_step_follows_the_artifacts(tmp_path: Path) -> None:
    campaign = build(tmp_path, finished=False)
    (campaign.root / "failures.json").unlink()
    folder = campaign.version_dir("b02", 3)

    def now() -> str:
        return watch.progress(campaign, POLICY)[2].step

    assert now() == "v003 profile"
    for name, step in (("profile.json", "plan"), ("plan.json", "candidate"), ("candidate/usage.json", "verify")):
        artifacts.write_text(folder / name, "{}")
        assert now() == f"v003 {step}"
    artifacts.write_text(campaign.logs / "b02" / "v003-verify.log", "loading\ntiming t1_h4096\n\n")
    assert now() == "v003 verify: timing t1_h4096"


@pytest.mark.parametrize(
    ("made", "step"),
    [((), "specs"), (("specs",), "baseline"), (("specs", "baseline"), "signatures"), (("signatures",), "buckets")],
)
def test_before_the_buckets(tmp_path: Path, made: tuple[str, ...], step: str) -> None:
    builder = Builder(tmp_path)
    builder.campaign.root.mkdir(parents=True)
    for name in made:
        getattr(builder, name)()
    lines = watch.progress(builder.campaign, POLICY)
    assert [line.step for line in lines] == [step]


def test_settings_of_the_campaigns_last_run_are_found(tmp_path: Path) -> None:
    campaign = Builder(tmp_path).campaign
    assert settings.of_campaign(campaign)["stop"]["max_stall"] == 3
    artifacts.write_text(campaign.settings, "stop: {max_stall: 7}\n")
    assert settings.of_campaign(campaign)["stop"]["max_stall"] == 7
    artifacts.write_text(tmp_path / "other.yaml", "stop: {max_stall: 2}\n")
    assert settings.of_campaign(campaign, tmp_path / "other.yaml")["stop"]["max_stall"] == 2


def test_nothing_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch.main(["--results", str(tmp_path), "--once"]) == 2
    assert "no campaign of it" in capsys.readouterr().err
    with lock.exclusive(tmp_path):
        assert "no campaign yet" in printed(tmp_path, capsys)
    assert watch.main(["--results", str(tmp_path / "x"), "--once"]) == 2
    assert "no such directory" in capsys.readouterr().err


def test_an_operator_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(tmp_path)
    build(tmp_path, operator="softmax")
    said = printed(tmp_path, capsys, "--operator", "softmax")
    assert "softmax on" in said
    assert "rms_norm on" not in said


def test_follow_ends_when_every_report_is_there(tmp_path: Path) -> None:
    campaign = build(tmp_path)
    artifacts.write_text(campaign.root / "report.json", "{}")
    watch.follow(tmp_path, [], None, interval_s=0.01)
    assert watch.snapshot(tmp_path, [], None)[1]


def test_it_starts_without_heavy_imports() -> None:
    heavy = ("torch", "scipy", "plotly")
    code = f"import sys, kernelwright.watch; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_running_session_is_shown_with_its_tokens_and_its_last_tool_call(tmp_path: Path) -> None:
    campaign = build(tmp_path, finished=False)
    (campaign.root / "failures.json").unlink()
    folder = campaign.version_dir("b02", 3)
    tokens = {"input_tokens": 12000, "output_tokens": 345}
    record = {
        "state": "running",
        "step": "candidate",
        "agent": "claude",
        "turns": 7,
        "tokens": tokens,
        "last_tool": "Bash make",
    }
    artifacts.write_text(folder / "profile.json", "{}")
    artifacts.write_text(folder / "plan.json", "{}")
    artifacts.write_text(folder / "sessions" / "plan-1.json", json.dumps({"state": "ended"}))
    artifacts.write_text(folder / "sessions" / "candidate-1.json", json.dumps(record))
    assert watch.progress(campaign, POLICY)[2].step == "v003 candidate: claude, 7 turns, 12,345 tokens, Bash make"
    record |= {"tokens": None, "last_tool": None}
    artifacts.write_text(folder / "sessions" / "candidate-1.json", json.dumps(record))
    assert watch.progress(campaign, POLICY)[2].step == "v003 candidate: claude, 7 turns, tokens unknown"
