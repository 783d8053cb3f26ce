"""Sessions of the real CLIs against a scripted model: what they spent and how they fail."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fake_model.server import Fault
from kernelwright import agents
from kernelwright.agents import prompt
from kernelwright.agents.sessions import review as review_module
from kernelwright.plan import make as make_plan
from session_world import CANDIDATE, CLIS, PLAN, SCRIPTS, assert_billed, clients

pytestmark = [pytest.mark.slow, pytest.mark.cli]


@pytest.mark.parametrize("name", CLIS)
def test_a_session_edits_asks_the_judge_and_hands_over(world, name):
    one = world(name)
    outcome = one.candidate()
    assert (outcome.outcome, outcome.note) == ("candidate_ready", "one pass"), outcome
    assert one.ctx.kernel_file.read_text() == "# faster\n"
    assert outcome.usage["trials"] == 1 and outcome.usage["sessions"] == 1 and outcome.usage["complete"]
    assert_billed(outcome.usage, one.model)
    assert one.records[0]["state"] == "ended" and one.records[0]["error"] is None
    assert "secret-" not in one.written() + json.dumps(outcome.log)


@pytest.mark.parametrize("name", CLIS)
def test_a_plan_that_cites_the_evidence_is_taken(world, name):
    one = world(name)
    plan = one.agent.plan(one.ctx)
    assert (plan["status"], plan["hypothesis"], plan["predicted_gain"]) == ("planned", "idle cores", 1.5)
    assert_billed(plan["usage"], one.model)


@pytest.mark.parametrize("name", CLIS)
def test_an_incomplete_handoff_is_resumed_and_both_runs_are_counted_once(world, name):
    scripts = {**SCRIPTS, "Write a faster kernel": [*CANDIDATE[:2], {"text": "I forgot the handoff."}]}
    scripts = {"not complete": scripts.pop("not complete"), **scripts}  # the latest prompt may have both markers
    one = world(name, scripts=scripts)
    outcome = one.candidate()
    assert (outcome.outcome, outcome.usage["sessions"]) == ("candidate_ready", 2), outcome
    assert_billed(outcome.usage, one.model)
    first, second = one.records
    if one.agent.adapter.RESUMES:
        assert second["resumes"] == 1 and first["session_id"] == second["session_id"]


# What the CLI or its server says -> the kind it is known by; "network" for answers that broke.
FAULTS = {
    "500": "server", "429": "rate_limit", "401": "auth", "malformed": "network", "drop": "network",
    "overflow": "context_overflow",
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", CLIS)
def test_each_failure_is_named_and_what_was_spent_before_it_is_known(world, name, fault):
    kind = "overflow_openai" if fault == "overflow" and name in ("codex", "api") else fault
    one = world(name, faults=[Fault(kind, first=1)], retries=0)
    outcome = one.candidate()
    assert outcome.outcome == "failed", outcome
    assert outcome.note.startswith(FAULTS[fault]), outcome.note
    assert_billed(outcome.usage, one.model)
    assert one.records[0]["complete"] is (FAULTS[fault] != "network" or name == "claude")
    assert "secret-" not in one.written() + json.dumps(outcome.log)


@pytest.mark.parametrize("name", CLIS)
def test_a_failure_that_passes_is_tried_again(world, name):
    times = 3 if name == "api" else 1  # its package tries three times by itself
    one = world(name, faults=[Fault("500", first=0, times=times)], retries=2)
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert_billed(outcome.usage, one.model)


@pytest.mark.parametrize("name", CLIS)
def test_a_server_that_hangs_is_left_after_the_idle_limit(world, name):
    one = world(name, faults=[Fault("hang", first=1)], retries=0, idle_s=4.0)
    outcome = one.candidate()
    assert outcome.note.startswith("idle"), outcome.note
    assert_billed(outcome.usage, one.model)
    assert not outcome.usage["complete"]


@pytest.mark.parametrize("name", CLIS)
def test_a_token_budget_ends_the_session_and_keeps_what_the_judge_accepted(world, name):
    endless = [*CANDIDATE[:2], *[{"run": "sleep 0.5"}] * 500]
    if name == "api":
        endless = [*CANDIDATE[:2], *[{"write": ["notes.txt", "on\n"]}] * 500]
    one = world(name, scripts={"Write a faster kernel": endless}, tokens=2500, turns=None)
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert "trial 1 of a session that ended early (token_budget" in outcome.note
    assert outcome.usage["input_tokens"] + outcome.usage["output_tokens"] > 2500
    assert one.records[0]["error"]["kind"] == "token_budget"


def test_reviewers_are_recorded_and_counted_and_an_absent_one_does_no_harm(world, monkeypatch):
    review = {"verdict": "object", "reasons": ["It was tried before."]}
    scripts = {
        "Review a plan": [{"write": ["review.json", json.dumps(review) + "\n"]}, {"text": "DONE"}],
        "Plan the next version": SCRIPTS["Plan the next version"],
    }
    one = world("codex", scripts=scripts, reviewers=["claude", "pi", "search", "qodercli"], resumes=0)
    url = f"http://127.0.0.1:{one.server.http.server_address[1]}"
    path = os.environ["PATH"]
    for name in ("claude", "pi"):
        for key, value in clients.variables(name, url, one.home.parent / name, one.clis).items():
            monkeypatch.setenv(key, value)
            path = f"{value}:{path}" if key == "PATH" else path
    monkeypatch.setenv("PATH", path)
    (one.ctx.operator.directory / "operator.yaml").write_text("")
    monkeypatch.setattr(review_module, "collect", lambda ctx, plan: [
        review_module.asked(ctx, name, plan) for name in ctx.config["agents"]["session"]["reviewers"]
    ])  # fmt: skip
    plan = make_plan(one.ctx, "codex", Path("plan.json"))
    assert plan["status"] == "planned", plan
    assert [(said["agent"], said["verdict"]) for said in plan["reviews"]] == [
        ("claude", "object"), ("pi", "object"), ("search", "absent"), ("qodercli", "absent"),
    ]  # fmt: skip
    assert plan["reviews"][0]["reasons"] == review["reasons"]
    assert "It was tried before." in prompt.render(one.ctx, "session_candidate", plan)
    assert_billed({**plan["usage"]}, one.model)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_the_tools_are_there_by_the_model_context_protocol_too(world, name):
    one = world(name, mcp=True)
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    # Claude Code names tools that it loads when they are asked for, codex describes them.
    offered = "mcp__kernelwright__judge" if name == "claude" else "Does a kernel build and give right values once?"
    assert any(offered in body for body in one.model.bodies)


def test_qodercli_without_a_login_says_so(world, monkeypatch, clis, tmp_path):
    programs = clients.installed("qodercli", clis)
    one = world("pi", retries=0, resumes=0)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    agent = agents.get("qodercli")
    assert agent.adapter.login(dict(os.environ)) == (False, "not logged in")
    outcome = agent.candidate(one.ctx, PLAN)
    assert (outcome.outcome, outcome.usage["input_tokens"]) == ("failed", None)
    assert outcome.note.startswith(("auth", "network")), outcome.note


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses"])
def test_pi_counts_the_same_in_every_format(world, api):
    one = world("pi")
    clients.write_pi_models(one.home, f"http://127.0.0.1:{one.server.http.server_address[1]}", api)
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert_billed(outcome.usage, one.model)


def test_the_api_agent_speaks_messages_too(world, monkeypatch):
    pytest.importorskip("anthropic")
    one = world("api")
    url = f"http://127.0.0.1:{one.server.http.server_address[1]}"
    given = {
        "provider": "anthropic",
        "model": "fake",
        "base_url": url,
        "env": {"ANTHROPIC_API_KEY": "secret-anthropic"},
    }
    monkeypatch.setenv("KERNELWRIGHT_API_SESSION_SETTINGS", json.dumps(given))
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert_billed(outcome.usage, one.model)


@pytest.mark.parametrize("name", ["claude", "pi"])
def test_a_cost_budget_ends_the_session(world, name):
    one = world(
        name, scripts={"Write a faster kernel": [*CANDIDATE[:2], *[{"run": "sleep 0.3"}] * 100]}, cost_usd=0.002
    )
    outcome = one.candidate()
    assert "cost_budget" in outcome.note and one.model.requests < 20, outcome.note
    assert one.records[0]["cost_usd"] > 0.002
