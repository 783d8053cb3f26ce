"""Episodes with a CLI that is a small Python program: handoffs, goals, resumes, retries, salvage, secrets."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from kernelwright import artifacts
from kernelwright.agents.api import ApiReader
from kernelwright.agents.sessions import coding
from kernelwright.agents.sessions.adapter import Adapter
from kernelwright.plan import make

spec = importlib.util.spec_from_file_location("context_files", Path(__file__).parents[1] / "context_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)

PLAN = {"hypothesis": "h", "change": "c", "category": "other"}
# Runs the n-th program of programs.json in its folder's parent; tells 110 tokens per start, as the api agent's loop does.
CLI = """import json, os, pathlib, subprocess, sys, time
here = pathlib.Path(sys.argv[1])
count = len(list(here.glob("start-*")))
(here / f"start-{count}").write_text(json.dumps(sys.argv[2:]))
def say(**event): print(json.dumps(event), flush=True)
def tool(*words): return subprocess.run(["./kernelwright", "tool", *words], capture_output=True, text=True).stdout
say(type="session", id="s", model="m")
say(type="answer", text="", tokens=[100, 0, 0, 10, 0])
programs = json.loads((here / "programs.json").read_text())
exec(programs[min(count, len(programs) - 1)])
say(type="end")
"""
HAND = "open('handoff.json','w').write(json.dumps({'outcome': %r, 'summary': 'said', 'journal': []}))\n"
READY, PIVOT = HAND % "candidate_ready", HAND % "pivot"
EDIT = "open('b00.py','w').write('# faster\\n')\n"
FAILS = "say(type='error', status=%s, text='x'); sys.exit(1)"


class Script(Adapter):
    NAME = "claude"
    PROGRAM = sys.executable
    VARIABLES = ("SCRIPT_",)

    def __init__(self, folder):
        self.folder = folder

    def argv(self, launch):
        script = self.folder / "cli.py"
        return [self.PROGRAM, str(script), str(self.folder), "resumed" if launch.resume else "fresh", launch.prompt]

    def reader(self, resumed=False):
        return ApiReader()

    def version(self, environment):
        return "1"


def episode(tmp_path, *programs, speedup=2.0, **session):
    (tmp_path / "cli.py").write_text(CLI)
    (tmp_path / "programs.json").write_text(json.dumps(programs))

    def judge(kernel, *_):
        good = "faster" in kernel.read_text()
        timing = {"geomean": {"incumbent": {"value": speedup}}, "workloads": {}} if good else None
        return {"status": "accepted" if good else "rejected", "reason": None if good else "wrong_values", "stage": None,
                "sentence": "", "timing": timing, "correctness": {"workloads": {}}, "log": ""}  # fmt: skip

    ctx = files.context(tmp_path, judge=judge)
    ctx.config["agents"]["session"].update(session)
    return ctx, coding.CodingAgent(Script(tmp_path))


def starts(tmp_path):
    found = sorted(tmp_path.glob("start-*"))
    return [json.loads(path.read_text()) for path in found]


def test_a_handoff_that_is_missing_or_wrong_is_asked_for_a_bounded_number_of_times(tmp_path):
    ctx, agent = episode(tmp_path, EDIT, "open('handoff.json','w').write('{}')", "pass", resumes=2)
    outcome = agent.candidate(ctx, PLAN)
    assert outcome.outcome == "failed" and "missing key" in outcome.note
    kinds = [(kind, "not complete" in text) for kind, text in starts(tmp_path)]
    assert kinds == [("fresh", False), ("resumed", True), ("resumed", True)]
    assert "handoff.json: no such file" in starts(tmp_path)[1][1]
    assert outcome.usage["input_tokens"] == 300 and outcome.usage["sessions"] == 3


def test_candidate_ready_without_an_edit_is_not_believed(tmp_path):
    ctx, agent = episode(tmp_path, READY, resumes=0)
    assert agent.candidate(ctx, PLAN).note == "the kernel file is as it was"


def test_a_pivot_is_taken_at_its_word(tmp_path):
    ctx, agent = episode(tmp_path, EDIT + PIVOT)
    assert (agent.candidate(ctx, PLAN).outcome, len(starts(tmp_path))) == ("pivot", 1)


@pytest.mark.parametrize(("speedup", "sessions"), [(2.0, 1), (1.2, 3)])
def test_a_goal_is_pursued_until_it_is_reached_or_the_trials_are_used(tmp_path, speedup, sessions):
    program = EDIT + "tool('judge', 'b00.py')\n" + READY
    ctx, agent = episode(tmp_path, program, speedup=speedup, episode="goal", goal_speedup=1.5, trials=3, resumes=5)
    outcome = agent.candidate(ctx, PLAN)
    assert (outcome.outcome, len(starts(tmp_path)), outcome.usage["trials"]) == ("candidate_ready", sessions, sessions)


@pytest.mark.parametrize(("status", "attempts"), [(500, 3), (429, 3), (401, 1), (400, 1)])
def test_only_failures_that_pass_are_tried_again(tmp_path, status, attempts):
    ctx, agent = episode(tmp_path, FAILS % status, retries=2)
    outcome = agent.candidate(ctx, PLAN)
    assert outcome.outcome == "failed" and len(starts(tmp_path)) == attempts
    assert outcome.usage["input_tokens"] == 100 * attempts


def test_a_retry_that_succeeds_leaves_no_failure(tmp_path):
    ctx, agent = episode(tmp_path, FAILS % 500, EDIT + READY, retries=2)
    assert agent.candidate(ctx, PLAN).outcome == "candidate_ready"


def test_the_best_judged_kernel_is_salvaged_when_the_session_breaks_off(tmp_path):
    program = EDIT + "tool('judge', 'b00.py')\nopen('b00.py','w').write('# worse')\n" + FAILS % 401
    ctx, agent = episode(tmp_path, program)
    outcome = agent.candidate(ctx, PLAN)
    assert outcome.outcome == "candidate_ready" and "auth" in outcome.note
    assert ctx.kernel_file.read_text() == "# faster\n"


def test_the_campaigns_token_budget_counts_what_other_sessions_spend(tmp_path):
    ctx, agent = episode(tmp_path, "time.sleep(60)")
    ctx.config["stop"]["token_budget"] = 100
    outcome = agent.candidate(ctx, PLAN)
    assert outcome.note == "token_budget: the session spent 110 tokens, 100 were left"


def test_a_secret_in_what_a_session_leaves_goes_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("SCRIPT_API_KEY", "sesame-open")
    leak = "key = os.environ['SCRIPT_API_KEY']\n"
    hand = "json.dump({'outcome': 'pivot', 'summary': key, 'journal': [{'idea': key, 'result': ''}]}, open('handoff.json','w'))\n"
    ctx, agent = episode(tmp_path, leak + hand + "say(type='answer', text=key, tokens=None)\n")
    outcome = agent.candidate(ctx, PLAN)
    assert outcome.note == "[redacted SCRIPT_API_KEY]"
    (tmp_path / "programs.json").write_text(
        json.dumps(
            [
                leak
                + "open('b00.py','w').write('# faster ' + key)\nsay(text=tool('judge'), type='answer', tokens=None)\n"
                + READY
            ]
        )
    )
    outcome = agent.candidate(ctx, PLAN)
    assert (outcome.outcome, outcome.usage["trials"]) == ("failed", 0) and "secret variable" in outcome.note
    everything = [path for path in ctx.campaign.root.rglob("*") if path.is_file()]
    assert not any("sesame-open" in path.read_text(errors="replace") for path in everything)


def test_a_plan_is_asked_for_until_it_cites_the_profile_and_a_blocked_one_says_what_was_spent(tmp_path, monkeypatch):
    plan = {**PLAN, "wiki": [], "predicted_gain": None, "evidence": [{"metric": "speed", "value": 1, "unit": "us"}]}
    wrong = f"json.dump({plan!r}, open('plan.json', 'w'))"
    ctx, agent = episode(tmp_path, wrong, resumes=1)
    monkeypatch.setattr("kernelwright.agents.get", lambda name: agent)
    body = make(ctx, "claude", Path("plan.json"))
    assert body["status"] == "blocked" and "metric 'speed' is not in the profile" in body["blocker"]
    assert body["usage"]["input_tokens"] == 200
    assert "metric 'speed' is not in the profile" in starts(tmp_path)[1][1]
    for change, words in (({"evidence": []}, "at least one metric"), ({"wiki": ["magic"]}, "is no card")):
        good = [{"metric": "latency_us", "value": 100.0, "unit": "us"}]
        text = json.dumps({**plan, "evidence": good, **change})
        (tmp_path / "programs.json").write_text(json.dumps([f"open('plan.json', 'w').write({text!r})"]))
        assert words in make(ctx, "claude", Path("plan.json"))["blocker"]


def test_records_tell_who_ran_and_how_it_ended(tmp_path):
    ctx, agent = episode(tmp_path, FAILS % 401, retries=0)
    agent.candidate(ctx, PLAN)
    record = artifacts.read(ctx.campaign.version_dir("b00", 1) / "sessions" / "candidate-1.json", "session")
    assert (record["cli_version"], record["model"], record["error"]["kind"]) == ("1", "m", "auth")
    assert len(record["prompt_sha256"]) == 64 and record["pid"] is None
