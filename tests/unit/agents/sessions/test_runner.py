"""Budgets, broken output and left-over processes of a run, with small Python programs in place of a CLI."""

from __future__ import annotations

import json
import os
import sys
import time

import psutil
import pytest
from kernelwright.agents.sessions import runner
from kernelwright.agents.sessions.reader import Reader
from kernelwright.agents.sessions.record import Tokens, failure

SAY = "import json, os, subprocess, sys, time\ndef say(**event): print(json.dumps(event), flush=True)\n"


class Simple(Reader):
    """Events {"tokens": n}, {"cost": x}, {"end": true}, {"error": text}, {"number": n} of which only numbers are good."""

    def feed(self, event):
        if "tokens" in event:
            self.turns += 1
            self.tokens = (self.tokens or Tokens()) + Tokens(event["tokens"])
        if "cost" in event:
            self.cost_usd = event["cost"]
        if "number" in event:
            int(event["number"])
        if "error" in event:
            self.failure = failure(event["error"])
        self.finished = self.finished or bool(event.get("end"))


def run(tmp_path, program, **limits):
    reader, kept = Simple(), []
    allowed = {"wall_s": 20.0, "idle_s": 20.0, **limits}
    argv = [sys.executable, "-c", SAY + program]
    ended = runner.run(
        argv, tmp_path, os.environ, reader, runner.Limits(**allowed), kept.append, lambda: None, lambda: reader.tokens
    )
    return reader, ended, runner.verdict_on(reader, ended), kept


def test_a_run_that_ends_well(tmp_path):
    reader, ended, failed, kept = run(tmp_path, "say(tokens=5); say(tokens=6); say(end=True)")
    assert (reader.tokens, failed, ended.exit_code, len(kept)) == (Tokens(11), None, 0, 3)


@pytest.mark.parametrize(
    ("program", "limits", "kind"),
    [
        ("time.sleep(60)", {"wall_s": 0.5}, "wall_clock"),
        ("say(tokens=1); time.sleep(60)", {"idle_s": 0.5}, "idle"),
        ("say(tokens=9); say(tokens=9); time.sleep(60)", {"tokens": lambda: 10}, "token_budget"),
        ("say(cost=2.0); time.sleep(60)", {"cost_usd": 1.0}, "cost_budget"),
        ("say(tokens=1)\nwhile True: say(tokens=0); time.sleep(0.01)", {"turns": 3}, "turn_budget"),
    ],
)
def test_a_budget_ends_the_run_while_it_goes_on(tmp_path, program, limits, kind):
    _, _, failed, _ = run(tmp_path, program, **limits)
    assert failed.kind == kind


def test_silence_while_the_judge_works_is_no_hang(tmp_path):
    program = "say(tokens=1); time.sleep(1.5); say(end=True)"
    _, _, failed, _ = run(tmp_path, program, idle_s=0.5, busy=lambda: True)
    assert failed is None


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("say(error='429 slow down'); say(end=True)", "rate_limit"),  # exit code 0 says nothing
        ("os.kill(os.getpid(), 15)", "killed"),
        ("sys.exit(137)", "killed"),
        ("sys.exit('Not logged in')", "auth"),
        ("pass", "network"),  # ended without a result
        ("sys.exit(3)", "unknown"),
    ],
)
def test_a_run_that_ends_badly_is_named(tmp_path, program, kind):
    _, _, failed, _ = run(tmp_path, program)
    assert failed.kind == kind


def test_output_that_is_no_event_is_kept_and_an_event_of_another_shape_makes_figures_incomplete(tmp_path):
    reader, _, failed, kept = run(tmp_path, "print('hello'); print('[1]'); say(number='x'); say(end=True)")
    assert failed is None and not reader.complete
    assert json.loads(kept[0]) == {"event": "output", "text": "hello"}
    assert json.loads(kept[2])["event"] == "not understood"


def test_a_program_that_is_not_there(tmp_path):
    ended = runner.run(["/no/such/cli"], tmp_path, {}, Simple(), runner.Limits(1, 1), print, lambda: None, lambda: None)
    assert ended.stopped.kind == "not_installed"


def test_children_with_a_session_of_their_own_are_ended_also_when_they_hold_the_output(tmp_path):
    program = (
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "open('pid', 'w').write(str(child.pid)); say(end=True)"
    )
    start = time.monotonic()
    _, _, failed, _ = run(tmp_path, program)
    assert failed is None and time.monotonic() - start < 15
    pid = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
