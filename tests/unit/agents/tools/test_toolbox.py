"""The tools of a session: budgets, evidence out of the agent's reach, and what production mode keeps back."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest
from kernelwright.agents import disguise
from kernelwright.agents.tools.toolbox import Toolbox

spec = importlib.util.spec_from_file_location("context_files", Path(__file__).parents[1] / "context_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)


def verdict(status="accepted", reason=None, stage=None, value=2.0, sentence="large: fine"):
    latency = {"median_us": 10.0}
    timing = {
        "geomean": {"incumbent": {"value": value, "low": value, "high": value}},
        "workloads": {"large": {"candidate": latency, "contenders": {"incumbent": latency}}},
    }
    checked = {"large": {"passed": status == "accepted", "worst_error": 0.0}}
    return {"status": status, "reason": reason, "stage": stage, "sentence": sentence, "log": "x.shape is (31, 2047)",
            "timing": timing if value else None, "correctness": {"workloads": checked}}  # fmt: skip


def box(tmp_path, answers, trials=3, **changes):
    asked = []

    def judge(kernel, workloads, samples, seeds, depth):
        asked.append((kernel.read_text(), workloads, samples, seeds, depth))
        return answers[len(asked) - 1]

    ctx = files.context(tmp_path, **changes)
    made = Toolbox(ctx, ctx.worktree, tmp_path / "evidence", judge, trials)
    return made, asked


def test_a_trial_is_judged_from_a_frozen_copy_and_recorded_outside_of_the_worktree(tmp_path):
    made, asked = box(tmp_path, [verdict(), verdict("rejected", "wrong_values", "correctness", None)])
    (made.root / "b00.py").write_text("# first\n")
    answer = made.call("judge", {"file": "b00.py"})
    assert (answer["status"], answer["trial"], answer["trials_left"]) == ("accepted", 1, 2)
    assert asked[0] == ("# first\n", ("small", "middle", "large"), 10, 3, "full")
    (made.root / "b00.py").write_text("# second\n")
    assert made.call("judge", {"depth": "quick"})["reason"] == "wrong_values"
    assert asked[1][4] == "race"
    assert made.best().kernel.read_text() == "# first\n"
    assert json.loads((tmp_path / "evidence" / "trial-02" / "verdict.json").read_text())["status"] == "rejected"
    calls = [json.loads(line) for line in (tmp_path / "evidence" / "calls.jsonl").read_text().splitlines()]
    assert [call["verb"] for call in calls] == ["judge", "judge"]


def test_a_quick_verdict_is_not_taken_for_proof(tmp_path):
    made, _ = box(tmp_path, [verdict()])
    made.call("judge", {"depth": "quick"})
    assert made.best() is None


def test_budgets(tmp_path):
    made, asked = box(tmp_path, [verdict()] * 9, trials=1)
    assert "error" not in made.call("judge", {})
    assert made.call("judge", {}) == {"error": "all 1 judge calls of this session are used"}
    for _ in range(4):
        assert made.call("compile", {})["status"] == "accepted"
    assert "all 4 compile calls" in made.call("compile", {})["error"]
    assert asked[1][1:] == (("small",), 10, 1, "smoke")
    assert made.call("status", {}) == {
        "judge_calls_left": 0,
        "compile_calls_left": 0,
        "best_trial": 1,
        "best_speedup": 2.0,
    }


def test_files_that_are_not_the_sessions_own_are_refused(tmp_path):
    made, asked = box(tmp_path, [])
    (tmp_path / "secret.py").write_text("expected\n")
    (made.root / "link.py").symlink_to(tmp_path / "secret.py")
    (made.root / "large.py").write_bytes(b"#" * (2 << 20) + b"##")
    os.mkfifo(made.root / "pipe.py")
    for file, words in (
        ("../secret.py", "outside"), (str(tmp_path / "secret.py"), "outside"), ("link.py", "outside"), ("none.py", "No such"),
        ("large.py", "larger than"), ("pipe.py", "not a regular file"), (".", "outside"),
    ):  # fmt: skip
        assert words in made.call("judge", {"file": file})["error"], file
    assert asked == [] and made.trials == []


@pytest.mark.parametrize(
    ("verb", "arguments", "words"),
    [
        ("promote", {}, "not one of judge"),
        ("judge", {"seeds": "1"}, "unknown argument seeds"),
        ("judge", {"depth": "x"}, "'x'"),
    ],
)
def test_requests_that_are_not_understood(tmp_path, verb, arguments, words):
    assert words in box(tmp_path, [])[0].call(verb, arguments)["error"]


PRODUCTION = {**files.SPECS, "mode": "production"}


@pytest.mark.parametrize(
    ("answer", "log", "sentence"),
    [
        (verdict("failed", "compile_error", "compile", None, "error: no such header"), True, True),
        (verdict("rejected", "wrong_values", "correctness", None, "large: element (30, 2046) is wrong"), False, False),
        (verdict(), False, True),
    ],
)
def test_production_mode_hides_names_and_what_a_kernel_that_ran_has_printed(tmp_path, answer, log, sentence):
    made, _ = box(tmp_path, [answer], specs=PRODUCTION)
    found = made.call("judge", {})
    text = json.dumps(found)
    assert ("2047" in text) is log and (found["sentence"] is not None) is sentence
    assert '"large"' not in text and "large:" not in text
    if found["speedup"]:
        assert found["workloads"][made.names.shown["large"]]["median_us"] == 10.0


def test_the_profile_has_opaque_names_and_rounded_figures_that_can_be_cited(tmp_path):
    metrics = {"latency_us.large": {"value": 123.456, "unit": "us"}, "threads": {"value": 2.0, "unit": "1"}}
    profile = {"metrics": metrics, "bottlenecks": []}
    made, _ = box(tmp_path, [], specs=PRODUCTION, profile=profile)
    shown = made.call("profile", {})["metrics"]
    name = f"latency_us.{made.names.shown['large']}"
    assert shown[name]["value"] == 120.0
    cited = [{"metric": name, "value": 120.0, "unit": "us"}]
    assert disguise.revealed_evidence(cited, made.ctx, made.names) == [
        {"metric": "latency_us.large", "value": 123.456, "unit": "us"}
    ]
