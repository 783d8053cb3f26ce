"""Programs as agents: small Python scripts stand in for them."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path

import psutil
import pytest
from kernelwright import agents
from kernelwright.agents import prompt
from kernelwright.errors import InputError
from kernelwright.plan import check_evidence

spec = importlib.util.spec_from_file_location("context_files", Path(__file__).parent / "context_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)

AGENT = agents.get("command")
PLAN = {"hypothesis": "h", "change": "c", "category": "other"}


def context(tmp_path, program, timeout_s=20.0):
    script = tmp_path / "agent.py"
    script.write_text("import json, os, subprocess, sys, time\n" + program)
    return files.context(tmp_path, config=files.config(argv=[sys.executable, str(script)], timeout_s=timeout_s))


def test_the_program_edits_the_kernel_and_reads_the_prompt_both_ways(tmp_path):
    ctx = context(
        tmp_path,
        "text = sys.stdin.read()\n"
        "assert text == open(os.environ['KERNELWRIGHT_PROMPT']).read()\n"
        "assert os.getcwd() == os.environ['KERNELWRIGHT_WORKTREE']\n"
        "open(os.environ['KERNELWRIGHT_KERNEL'], 'w').write('# by ' + os.environ['KERNELWRIGHT_OPERATOR'])\n"
        "print('said', len(text) > 500)\nprint('complained', file=sys.stderr)\n",
    )
    outcome = AGENT.candidate(ctx, PLAN)
    assert (outcome.outcome, ctx.kernel_file.read_text()) == ("candidate_ready", "# by tiny")
    assert outcome.usage["input_tokens"] is None
    (session,) = outcome.log
    assert (session["stdout"], session["stderr"], session["exit_code"]) == ("said True\n", "complained\n", 0)


@pytest.mark.parametrize(
    ("program", "note"),
    [("sys.exit(3)", "exit code 3"), ("pass", "left the kernel file as it was")],
)
def test_a_program_that_fails_or_changes_nothing_is_a_failed_session(tmp_path, program, note):
    outcome = AGENT.candidate(context(tmp_path, program), PLAN)
    assert outcome.outcome == "failed"
    assert note in outcome.note


def gone(pid, within_s=5.0):
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


ORPHAN = (
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
    "open('pid', 'w').write(str(child.pid))\n"
)


def test_the_timeout_ends_the_program_and_its_detached_children(tmp_path):
    ctx = context(tmp_path, ORPHAN + "time.sleep(600)\n", timeout_s=1.5)
    outcome = AGENT.candidate(ctx, PLAN)
    assert outcome.outcome == "failed"
    assert "longer than 2 s" in outcome.note
    assert gone(int((ctx.worktree / "pid").read_text()))


def test_children_that_outlive_the_program_are_ended_too(tmp_path):
    ctx = context(tmp_path, ORPHAN + "open(os.environ['KERNELWRIGHT_KERNEL'], 'w').write('# new')\n")
    assert AGENT.candidate(ctx, PLAN).outcome == "candidate_ready"
    assert gone(int((ctx.worktree / "pid").read_text()))


def test_a_program_that_does_not_plan_gets_a_plan_that_cites_the_top_bottleneck(tmp_path):
    ctx = context(tmp_path, "pass")
    plan = AGENT.plan(ctx)
    check_evidence(plan, ctx.profile)
    assert (plan["status"], plan["category"], plan["predicted_gain"]) == ("planned", "other", 2.0)


def test_the_programs_own_plan_is_used(tmp_path):
    body = {
        "hypothesis": "idle cores",
        "category": "parallelism",
        "evidence": [],
        "wiki": [],
        "change": "x",
        "predicted_gain": None,
    }
    ctx = context(tmp_path, f"open('plan.json', 'w').write({json.dumps(body)!r})\n")
    assert AGENT.plan(ctx)["hypothesis"] == "idle cores"


@pytest.mark.parametrize(("text", "fault"), [("{", "not valid JSON"), ("{}", "missing key 'hypothesis'")])
def test_a_broken_plan_is_named(tmp_path, text, fault):
    with pytest.raises(InputError, match=fault):
        AGENT.plan(context(tmp_path, f"open('plan.json', 'w').write({text!r})\n"))


def test_a_missing_program_is_named(tmp_path):
    ctx = files.context(tmp_path, config=files.config(argv=["/no/such/agent"]))
    with pytest.raises(InputError, match=r"'/no/such/agent' cannot be started"):
        AGENT.candidate(ctx, PLAN)
    with pytest.raises(InputError, match=r"agents\.command\.argv: \[\] is empty"):
        AGENT.candidate(files.context(tmp_path), PLAN)


def test_the_prompt_has_the_facts_and_the_rules(tmp_path):
    lesson = {"version": 2, "outcome": "rejected", "lesson": "Tiling did not help."}
    text = prompt.render(files.context(tmp_path, memories=[lesson]), "candidate", PLAN)
    for wanted in (
        "class Model: ...",
        "parallel_efficiency | 0.5 | ratio",
        "share_of_floor | unknown",
        "Tiling did not help.",
        "| n | input | int | scalar |",
        "load_inline",
        "more than 2.0 %",
        "| large |",
    ):
        assert wanted in text


def test_agents_are_found_by_name():
    with pytest.raises(InputError, match="allowed: api, claude, codex, command, pi, qodercli, search"):
        agents.get("oracle")


def test_the_prompt_names_cards_for_the_bottleneck_and_how_to_find_more(tmp_path):
    text = prompt.render(files.context(tmp_path), "plan")
    assert "Cards of the wiki for this bottleneck" in text
    assert "(technique)" in text
    assert "kernelwright wiki query" in text
