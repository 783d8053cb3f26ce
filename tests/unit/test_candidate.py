from __future__ import annotations

import dataclasses
import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from kernelwright import artifacts, candidate, config
from kernelwright.agents.base import Outcome, no_model_usage
from kernelwright.plan import blocked

spec = importlib.util.spec_from_file_location("context_files", Path(__file__).parent / "agents" / "context_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)

PLANNED = {"status": "planned", "usage": no_model_usage(0.0)}


def session(tmp_path, monkeypatch, behaviour, plan=PLANNED):
    """Run a session and read back what the step hands in: (outcome, kernel text, log lines, usage)."""
    monkeypatch.setattr(candidate.agents, "get", lambda name: SimpleNamespace(candidate=behaviour))
    ctx = files.context(tmp_path)
    outcome = candidate.run_session(ctx, "search", plan)
    candidate.write_session(tmp_path / "out", "search", ctx, outcome)
    lines = (tmp_path / "out" / "session.jsonl").read_text().splitlines()
    usage = artifacts.read(tmp_path / "out" / "usage.json", "usage")
    return outcome, (tmp_path / "out" / "kernel.py").read_text(), [json.loads(line) for line in lines], usage


def test_an_edited_kernel_is_handed_in_with_its_log(tmp_path, monkeypatch):
    def edit(ctx, plan):
        ctx.kernel_file.write_text("# new\n")
        return Outcome("candidate_ready", "done", no_model_usage(1.0, 3), [{"event": "trial"}, {"event": "chosen"}])

    outcome, kernel, lines, usage = session(tmp_path, monkeypatch, edit)
    assert (outcome.outcome, kernel) == ("candidate_ready", "# new\n")
    assert [line["event"] for line in lines] == ["trial", "chosen"]
    assert (usage["outcome"], usage["usage"]["trials"]) == ("candidate_ready", 3)
    assert usage["provenance"]["kernel_sha256"] == artifacts.sha256_file(tmp_path / "out" / "kernel.py")


def test_a_session_without_a_kernel_hands_in_one_comment_line(tmp_path, monkeypatch):
    _, kernel, _, usage = session(
        tmp_path, monkeypatch, lambda ctx, plan: Outcome("pivot", "two\nlines", no_model_usage(0.0))
    )
    assert kernel == "# no candidate: pivot: two lines\n"
    assert usage["outcome"] == "pivot"


def test_an_agent_that_crashes_is_a_failed_session(tmp_path, monkeypatch):
    def crash(ctx, plan):
        raise ZeroDivisionError("oops")

    outcome, _, lines, usage = session(tmp_path, monkeypatch, crash)
    assert (outcome.outcome, outcome.note) == ("failed", "ZeroDivisionError: oops")
    assert "ZeroDivisionError" in lines[0]["traceback"]
    assert usage["usage"]["input_tokens"] is None


def test_a_blocked_plan_starts_no_agent(tmp_path, monkeypatch):
    def never(ctx, plan):
        raise AssertionError("started")

    outcome, kernel, lines, usage = session(tmp_path, monkeypatch, never, blocked("nothing left", "search"))
    assert (outcome.outcome, lines, kernel) == ("blocked", [], "# no candidate: blocked: nothing left\n")
    assert usage["usage"]["input_tokens"] == 0


def test_the_judge_is_asked_against_the_incumbent(tmp_path, monkeypatch):
    asked = []

    @dataclasses.dataclass(frozen=True)
    class Request:
        against: Path
        workloads: tuple[str, ...]
        seeds: int
        samples: int = 30

    def request(specs, config, operator_dir, kernel, workloads, against, depth, seeds):
        assert depth == "race"
        return Request(against, workloads, seeds)

    monkeypatch.setattr(candidate.judging, "request", request)
    monkeypatch.setattr(candidate.judging, "evaluate", lambda made: (asked.append(made) or {"status": "accepted"}, {}))
    ctx = files.context(tmp_path)
    verdict = candidate.judge_call(ctx, tmp_path)(tmp_path / "kernel.py", ("small",), 7, 1)
    assert verdict == {"status": "accepted"}
    assert asked == [Request(ctx.incumbent_file, ("small",), 1, 7)]


@pytest.mark.parametrize("campaign", ["results", "results/op/cpu/cpp-fast"])
def test_a_path_that_is_no_campaign_is_named(tmp_path, campaign, capsys):
    arguments = [
        "--campaign",
        str(tmp_path / campaign),
        "--bucket",
        "b00",
        "--version",
        "1",
        "--operator-dir",
        str(tmp_path),
    ]
    arguments += ["--config", str(config.default_path()), "--output-dir", str(tmp_path)]
    from kernelwright import cli

    assert cli.guarded(candidate.main)(arguments) == 2
    assert "is not a campaign directory" in capsys.readouterr().err
