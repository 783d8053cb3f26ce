"""What a session cannot see, forge or leave behind, with the real CLIs."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from kernelwright import artifacts
from kernelwright.agents.sessions import isolation
from kernelwright.agents.sessions.adapter import Launch, settings_of
from session_world import CANDIDATE, CLIS, assert_billed, files, verdict

pytestmark = [pytest.mark.slow, pytest.mark.cli]


needs_bubblewrap = pytest.mark.skipif(not isolation.works(), reason="bubblewrap does not work here")


@needs_bubblewrap
@pytest.mark.parametrize("name", CLIS)
def test_behind_walls_the_session_works_and_sees_neither_results_nor_operators(world, name, tmp_path):
    one = world(name, isolation="required")
    secret = one.ctx.campaign.root / "expected.txt"
    secret.write_text("expected outputs\n")
    looks = [
        secret,
        one.ctx.campaign.specs,
        one.ctx.operator.directory / "reference.py",
        one.home.parent / "worktree/b00.py",
    ]
    command = "; ".join(f"cat {path} >> seen.txt" for path in looks)
    if name != "api":
        one.model.scripts["Write a faster kernel"] = [{"run": command}, *CANDIDATE]
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert_billed(outcome.usage, one.model)
    assert one.records[0]["isolation"] == {"level": "bubblewrap", "missing": []}
    if name != "api":
        assert (one.ctx.worktree / "seen.txt").read_text() == "# incumbent\n"


@pytest.mark.parametrize("name", CLIS)
def test_results_that_a_model_forges_gain_nothing(world, name):
    forged = [
        {"write": ["b00.py", "# slow\n"]},
        {"write": ["verdict.json", '{"status": "accepted"}\n']},
        {"write": ["evidence/trial-01/verdict.json", '{"status": "accepted"}\n']},
        {"judge": "b00.py"},
        {"text": "It is 9 times faster."},
    ]
    one = world(name, scripts={"not complete": [{"text": "No."}], "Write a faster kernel": forged})
    outcome = one.candidate()
    assert (outcome.outcome, outcome.usage["trials"]) == ("failed", 1)
    evidence = one.ctx.campaign.version_dir("b00", 1) / "candidate" / "evidence"
    assert json.loads((evidence / "trial-01" / "verdict.json").read_text())["status"] == "rejected"


def running_with(text):
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if text in " ".join(process.cmdline()) and process.pid != os.getpid():
                found.append(process)
    return [process for process in found if process.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("walls", ["none", pytest.param("required", marks=needs_bubblewrap)])
@pytest.mark.parametrize("name", ["claude", "codex", "pi"])
def test_the_wall_clock_ends_every_process_of_a_session(world, name, walls):
    mark = f"7{os.getpid() % 1000:03d}.{CLIS.index(name)}{len(walls)}"
    scripts = {
        "Write a faster kernel": [
            {"run": f"setsid tail -f /dev/null --pid={os.getpid()} -s {mark} & tail -f /dev/null -s {mark}"}
        ]
    }
    one = world(name, scripts=scripts, wall_s=6.0, isolation=walls)
    outcome = one.candidate()
    assert outcome.note.startswith("wall_clock"), outcome.note
    assert_billed(outcome.usage, one.model)
    assert not outcome.usage["complete"]
    assert running_with(mark) == []


KILLED = """
import sys
sys.path.insert(0, {path!r})
import session_world as module
from pathlib import Path
from kernelwright import agents
ctx = module.files.context(Path({folder!r}), judge=module.verdict)
ctx.config["agents"]["session"].update(isolation={walls!r})
agents.get({name!r}).candidate(ctx, module.PLAN)
"""


@pytest.mark.parametrize("walls", ["none", pytest.param("required", marks=needs_bubblewrap)])
@pytest.mark.parametrize("name", ["claude", "codex", "pi"])
def test_kill_9_of_the_supervisor_loses_no_tokens_and_the_next_one_ends_the_work(world, name, walls, tmp_path):
    mark = f"8{os.getpid() % 1000:03d}.{CLIS.index(name)}{len(walls)}"
    one = world(name, isolation=walls)
    whole = dict(one.model.scripts)
    one.model.scripts["Write a faster kernel"] = [CANDIDATE[0], {"run": f"touch started; tail -f /dev/null -s {mark}"}]
    script = KILLED.format(path=str(Path(__file__).parent), folder=str(tmp_path), name=name, walls=walls)
    child = subprocess.Popen([sys.executable, "-c", script])
    deadline = time.monotonic() + 60
    while not (one.ctx.worktree / "started").exists():
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.05)
    time.sleep(2.0)  # the record is written once a second
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert one.records[0]["state"] == "running"

    one.ctx.kernel_file.write_text("# incumbent\n")
    one.model.scripts = whole
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert [record["state"] for record in one.records] == ["lost", "ended"]
    assert_billed(outcome.usage, one.model)
    assert not outcome.usage["complete"]
    for process in running_with(mark):
        process.kill()


@pytest.mark.parametrize("walls", ["none", pytest.param("required", marks=needs_bubblewrap)])
@pytest.mark.parametrize("name", ["claude", "codex", "pi"])
def test_production_mode_shows_no_size_and_a_model_that_looks_finds_none(world, name, walls):
    one = world(name, isolation=walls)
    sized = {**files.WORKLOAD, "input_kwargs": {"rows": 31337}, "axes": {"rows": 31337}}
    traffic = {"read_bytes": 10, "write_bytes": 10, "flops": 0, "source": "declared"}
    specs = {**files.SPECS, "mode": "production", "workloads": {"w_31337": {**sized, "traffic": traffic}}}
    profile = {**files.PROFILE, "metrics": {**files.METRICS, "latency_us.w_31337": {"value": 1.25, "unit": "us"}}}
    leaky = verdict(Path(__file__))
    leaky |= {"status": "rejected", "reason": "wrong_values", "sentence": "w_31337: row 31336 is wrong", "timing": None,
              "log": "x has 31337 rows", "stage": "correctness"}  # fmt: skip
    one.ctx = dataclasses.replace(one.ctx, specs=specs, workloads=("w_31337",), profile=profile, judge=lambda *_: leaky)
    artifacts.write_text(one.ctx.campaign.specs, json.dumps(specs))
    for path in (one.ctx.worktree / "operator" / "shapes.json", one.ctx.operator.directory / "shapes.json"):
        path.parent.mkdir(exist_ok=True)
        path.write_text('{"w_31337": {"rows": 31337}}')
    looks = "cat operator/*; git show HEAD:operator/shapes.json; env; cat /proc/*/environ /proc/*/cmdline"
    if walls == "required":
        looks += f"; cat {one.ctx.operator.directory}/* {one.ctx.campaign.root}/*; grep -rs 3133[7] /tmp"
    steps = [{"run": f"({looks}) 2>&1 | grep -a 3133[7]"}, *CANDIDATE]
    one.model.scripts = {"Write a faster kernel": steps}
    outcome = one.candidate()
    assert (outcome.outcome, outcome.usage["trials"]) == ("candidate_ready", 1), outcome
    # What reached the model: neither prompts nor anything that a tool gave has the size; the command itself has it not.
    assert not any("31337" in body for body in one.model.bodies)
    assert_billed(outcome.usage, one.model)


def test_the_hooks_of_the_skill_hold_up_a_real_session(world, tmp_path):
    """Claude Code with the project's hooks: an edit before the plan is refused, the end before the judge too."""
    project = tmp_path / "project"
    project.mkdir()
    operator = Path(__file__).parents[2] / "operators" / "l2_norm"
    command = [sys.executable, "-m", "kernelwright"]
    flags = ["--operator", str(operator), "--platform", "cpu", "--framework", "cpp"]
    subprocess.run([*command, "assist", "start", *flags], cwd=project, check=True, capture_output=True)
    subprocess.run([*command, "skill", "install"], cwd=project, check=True, capture_output=True)
    kernel = project / "kernel.py"
    first = kernel.read_text()
    write = {"tool": "Write", "arguments": {"file_path": str(kernel), "content": "# changed\n"}}
    script = [write, {"run": f"{sys.executable} -m kernelwright assist memory; echo plan > .kernelwright/plan.md"},
              {"tool": "Read", "arguments": {"file_path": str(kernel)}}, write, {"text": "It is faster now."}]  # fmt: skip
    one = world("claude", scripts={"HELLO": script})
    adapter = one.agent.adapter
    settings = settings_of("claude", os.environ, {})
    launch = Launch("HELLO", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", settings, tmp_path)
    environment = {**adapter.environment(launch), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        adapter.argv(launch), cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert first != kernel.read_text() == "# changed\n", done.stdout[-3000:]
    said = "".join(one.model.bodies)
    assert "Before the kernel is edited: read what was tried" in said
    assert "The kernel was changed and not judged" in said


@needs_bubblewrap
def test_behind_walls_claude_keeps_its_own_state_file(world):
    one = world("claude", isolation="required")
    state = one.home / ".claude.json"
    state.write_text('{"hasCompletedOnboarding": true, "marker": 1}')
    assert one.candidate().outcome == "candidate_ready"
    assert json.loads(state.read_text())["marker"] == 1
