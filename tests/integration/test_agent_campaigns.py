"""A whole campaign on CPU per coding CLI: a scripted model plans, edits, asks the judge; the kernel is promoted."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time

import git
import psutil
import pytest
import yaml
from fake_model.server import FakeModel, Server
from project import ADDING_INPUT, ADDING_REFERENCE, Project
from session_world import clients

pytestmark = [pytest.mark.slow, pytest.mark.cli]
KERNEL = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 24.0
"""
HANDOFF = {"outcome": "candidate_ready", "summary": "one addition instead of 24",
           "journal": [{"idea": "fold the additions", "result": "accepted", "kept": True}]}  # fmt: skip


def planned(profile_text):
    """The model's plan: it cites what it has just read in profile.json."""
    profile = json.loads(profile_text[profile_text.index("{") : profile_text.rindex("}") + 1])
    name = profile["bottlenecks"][0]["evidence"][0]
    metric = profile["metrics"][name]
    body = {
        "hypothesis": "24 launches where one would do", "category": "fusion", "wiki": [], "change": "fold the additions",
        "evidence": [{"metric": name, "value": metric["value"], "unit": metric["unit"]}], "predicted_gain": 8,
    }  # fmt: skip
    return {"write": ["plan.json", json.dumps(body) + "\n"]}


REVIEWERS = {"codex": ["pi"]}
REVIEW = {"verdict": "agree", "reasons": ["The launches dominate."]}
SCRIPTS = {
    "Review a plan": [{"write": ["review.json", json.dumps(REVIEW) + "\n"]}, {"text": "reviewed"}],
    "Plan the next version": [{"read": "profile.json"}, planned, {"text": "planned"}],
    "Write a faster kernel": [
        {"write": ["kernels/b00.py", KERNEL]},
        {"judge": "kernels/b00.py"},
        {"write": ["handoff.json", json.dumps(HANDOFF) + "\n"]},
        {"text": "done"},
    ],
}


class AgentProject(Project):
    """A project whose agent is a coding CLI in front of a fake model."""

    extra = ()
    variables: dict[str, str] = {}  # noqa: RUF012 - set on the instance

    @property
    def env(self):
        env = {**super().env, **self.variables}
        del env["KERNELWRIGHT_STEP_PYTHON"]
        return env


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """One project for all CLIs: what lies before the first version is made once."""
    made = AgentProject(tmp_path_factory.mktemp("campaign"))
    (made.operator / "reference.py").write_text(ADDING_REFERENCE)
    (made.operator / "input.py").write_text(ADDING_INPUT)
    shapes = {"w_257x512": {"init_kwargs": None, "input_kwargs": {"rows": 257}}}
    (made.operator / "shapes.json").write_text(json.dumps(shapes))
    yield made
    for process in made.processes():
        process.kill()


def settings(project, name, **session):
    body = {
        "agent": name,
        "agents": {
            "session": {"trials": 2, "wall_s": 240, "retries": 0, "reviewers": REVIEWERS.get(name, []), **session}
        },
        "judge": {"seeds": 1, "dispatch_seeds": 1, "samples": 15},
        "stop": {"max_iters": 1, "max_stall": 9, "target_utilization": None},
    }
    (project.work / "settings.yaml").write_text(yaml.safe_dump(body))
    return "--config", "settings.yaml"


def holders(mark):
    """Processes with `mark` in their command line."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if mark in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@pytest.mark.parametrize(("number", "walls"), [(signal.SIGTERM, "none"), (signal.SIGKILL, "auto")])
def test_a_run_that_ends_in_a_session_leaves_no_process_and_the_next_counts_its_tokens(
    project, clis, tmp_path, number, walls
):
    for folder in ("b00", "dispatcher"):
        shutil.rmtree(project.campaign / folder, ignore_errors=True)
    mark = f"9{os.getpid() % 1000:03d}.{int(number)}"
    hold = [SCRIPTS["Write a faster kernel"][0], {"run": f"touch started; tail -f /dev/null -s {mark}"}]
    model = FakeModel({**SCRIPTS, "Write a faster kernel": hold})
    with Server(model) as url:
        project.variables = variables(["claude"], url, tmp_path, clis)
        flags = settings(project, "claude", isolation=walls)
        child = project.start(*flags)
        deadline = time.monotonic() + 240
        while not (project.campaign / "worktrees" / "b00-v001" / "started").exists():
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(2.0)  # the record is written once a second
        child.send_signal(number)
        child.communicate(timeout=60)
        end = time.monotonic() + 20
        while holders(mark) and time.monotonic() < end:
            time.sleep(0.1)
        assert holders(mark) == [] and project.gone() == []
        model.scripts = dict(SCRIPTS)
        output = project.run(*flags)
    memory = json.loads((project.campaign / "b00" / "v001" / "memory.json").read_text())
    billed = model.total()
    assert memory["outcome"] == "accepted", output
    assert memory["tokens"] == billed["input"] + billed["output"]
    states = [
        json.loads(path.read_text())["state"]
        for path in sorted((project.campaign / "b00/v001/sessions").glob("c*.json"))
    ]
    assert states == ["lost", "ended"]


def variables(names, url, folder, clis):
    """Environment for several CLIs; each has a home of its own."""
    found, path = {}, []
    for name in names:
        found |= clients.variables(name, url, folder / name, clis)
        path.append(found.pop("PATH"))
    return {**found, "PATH": os.pathsep.join(path)}


@pytest.mark.parametrize("name", ["claude", "codex", "pi", "api"])
def test_a_campaign_ends_in_a_promoted_kernel_and_counts_every_token(project, name, clis, tmp_path):
    for folder in ("b00", "dispatcher"):
        shutil.rmtree(project.campaign / folder, ignore_errors=True)
    model = FakeModel(SCRIPTS)
    with Server(model) as url:
        project.variables = variables([name, *REVIEWERS.get(name, [])], url, tmp_path, clis)
        flags = ["--no-judge-server"] if name == "pi" else []  # then the session's judge is one of the step's own
        output = project.run(*settings(project, name), *flags)
    version = project.campaign / "b00" / "v001"
    verdict = json.loads((version / "verdict.json").read_text())
    assert (verdict["status"], verdict["incumbent"]["version"]) == ("accepted", 1), output
    assert (version / "candidate" / "kernel.py").read_text() == KERNEL
    assert (project.campaign / "report.html").is_file() and (project.campaign / "dispatcher" / "kernel.py").is_file()
    workspace = git.Repo(next(project.campaign.glob("kernel_opt_*")))
    assert any(commit.message.startswith("b00 v001: 24 launches") for commit in workspace.iter_commits())

    plan = json.loads((version / "plan.json").read_text())
    said = [(review["agent"], review["verdict"]) for review in plan.get("reviews", [])]
    assert said == [(reviewer, "agree") for reviewer in REVIEWERS.get(name, [])]
    billed = model.total()
    memory = json.loads((version / "memory.json").read_text())
    assert memory["tokens"] == billed["input"] + billed["output"]
    usage = json.loads((version / "candidate" / "usage.json").read_text())
    assert (usage["outcome"], usage["usage"]["trials"], usage["usage"]["complete"]) == ("candidate_ready", 1, True)
    assert usage["handoff"]["journal"][0]["idea"] == "fold the additions"
    assert project.gone() == []
    written = "".join(p.read_text(errors="replace") for p in project.campaign.rglob("*") if p.is_file())
    assert "secret-" not in written


def test_a_campaign_in_production_mode_never_tells_the_model_a_size(project, clis, tmp_path):
    """The scripted kernel calls a library, so this mode turns it down; what matters is what reached the model."""
    model = FakeModel(SCRIPTS)
    with Server(model) as url:
        project.variables = variables(["codex"], url, tmp_path, clis)
        output = project.run(*settings(project, "codex", reviewers=[]), "--mode", "production")
    version = project.campaign.with_name("cpp-production") / "b00" / "v001"
    plan, verdict = (json.loads((version / name).read_text()) for name in ("plan.json", "verdict.json"))
    assert plan["status"] == "planned" and plan["evidence"][0]["metric"] in (version / "profile.json").read_text(), (
        output
    )
    assert (verdict["status"], verdict["reason"]) == ("rejected", "library_fallback"), output
    assert len(model.bodies) == 7 and not any("257" in body for body in model.bodies)
