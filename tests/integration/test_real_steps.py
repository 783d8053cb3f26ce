"""The workflow with its real steps and judge: a small operator, and a program as agent that always does the same."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time

import git
import pytest
import yaml
from project import ADDING_INPUT, ADDING_REFERENCE, Project

KERNEL = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + {added}
"""
# Version 1 is right and faster, 2 is wrong, 3 fails; the pause leaves a moment to kill.
AGENT = f"""import os, pathlib, sys, time

if os.environ["KERNELWRIGHT_STEP"] == "candidate":
    pathlib.Path(os.environ["AGENT_STARTED"]).touch()
    time.sleep(float(os.environ.get("AGENT_PAUSE", "0")))
    version = int(os.environ["KERNELWRIGHT_VERSION"])
    if version == 3:
        sys.exit("no idea")
    kernel = {KERNEL!r}.format(added={{1: "24.0", 2: "23.0"}}[version])
    pathlib.Path(os.environ["KERNELWRIGHT_KERNEL"]).write_text(kernel)
"""


class RealProject(Project):
    """A project with the real steps; `agent_pause_s` holds each candidate session up."""

    agent_pause_s = 0.0
    extra = ()

    @property
    def env(self) -> dict[str, str]:
        env = {**super().env, "AGENT_STARTED": str(self.work / "started"), "AGENT_PAUSE": str(self.agent_pause_s)}
        del env["KERNELWRIGHT_STEP_PYTHON"]
        return env


@pytest.fixture
def real(tmp_path):
    made = RealProject(tmp_path)
    (made.operator / "reference.py").write_text(ADDING_REFERENCE)
    (made.operator / "input.py").write_text(ADDING_INPUT)
    shapes = {"w1": {"init_kwargs": None, "input_kwargs": {"rows": 256}}}
    (made.operator / "shapes.json").write_text(json.dumps(shapes))
    (made.work / "agent.py").write_text(AGENT)
    command = {"argv": [sys.executable, str(made.work / "agent.py")], "timeout_s": 60}
    settings = {
        "agent": "command",
        "agents": {"command": command},
        "judge": {"seeds": 1, "dispatch_seeds": 1, "samples": 7},
        "stop": {"max_iters": 3, "max_stall": 9, "target_utilization": None},
    }
    (made.work / "settings.yaml").write_text(yaml.safe_dump(settings))
    yield made
    for process in made.processes():
        process.kill()


def outcomes(project: RealProject) -> list[tuple[str, str | None]]:
    verdicts = [project.campaign / "b00" / f"v{number:03d}" / "verdict.json" for number in (1, 2, 3)]
    records = [json.loads(path.read_text()) for path in verdicts]
    return [(record["status"], record["reason"]) for record in records]


@pytest.mark.slow
def test_kill_9_in_a_session_then_a_whole_campaign_and_nothing_to_do(real):
    real.agent_pause_s = 60
    child = real.start("--config", "settings.yaml")
    deadline = time.monotonic() + 150
    while not (real.work / "started").exists():
        assert child.poll() is None and time.monotonic() < deadline, child.communicate()[0]
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)
    assert [shlex.join(process.cmdline()) for process in real.gone()] == []

    real.agent_pause_s = 0
    output = real.run("--config", "settings.yaml")
    assert outcomes(real) == [("accepted", None), ("rejected", "wrong_values"), ("failed", "agent_failed")], output
    assert "specs " not in output and "b00 v001 verify" in output
    assert (real.campaign / "report.html").is_file() and (real.campaign / "dispatcher" / "kernel.py").is_file()
    workspace = next(real.campaign.glob("kernel_opt_*"))
    subjects = [commit.message.splitlines()[0] for commit in git.Repo(workspace).iter_commits()]
    assert len([subject for subject in subjects if subject.startswith("b00 v001")]) == 1
    assert len(git.Repo(workspace).git.worktree("list").splitlines()) == 1
    assert real.gone() == []

    before = real.artifacts()
    assert "nothing to be done" in real.run("--config", "settings.yaml")
    assert real.artifacts() == before
