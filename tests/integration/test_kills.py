"""Signals, kills and failures: no process is left, and the next run ends where an undisturbed one does."""

from __future__ import annotations

import itertools
import json
import signal
import time

import psutil
import pytest
from project import Project

CHAIN = ("candidate", "plan", "profile", "verify")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Artifacts of an undisturbed run."""
    whole = Project(tmp_path_factory.mktemp("whole"))
    whole.run()
    return whole.artifacts()


def role(process: psutil.Process) -> str:
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:  # it ended meanwhile
        return "gone"
    for part, name in (("fake_steps", "step"), ("engine.workflow", "snakemake"), ("kernelwright.optimize", "driver")):
        if part in words:
            return name
    return "other"


@pytest.mark.parametrize(
    ("victim", "moment"),
    [
        ("driver", "buckets"),
        ("driver", "verify"),
        ("snakemake", "candidate"),
        ("snakemake", "verify"),
        ("step", "candidate"),
    ],
)
def test_kill_9_then_the_same_artifacts(project, expected, victim, moment):
    project.set(sleep_s=0.15)
    child = project.start()
    project.wait_for_step(moment)
    processes = [process for process in project.processes() if role(process) == victim]
    assert processes, f"no {victim} to kill"
    processes[0].kill()
    child.communicate(timeout=120)
    assert project.gone() == []
    project.set(sleep_s=0)
    project.run()
    assert project.artifacts() == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_every_process_and_loses_nothing(project, expected, number):
    project.set(sleep_s=30)
    child = project.start()
    project.wait_for_step("specs")
    project.set(sleep_s=0)
    start = time.monotonic()
    child.send_signal(number)
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 128 + number, output
    assert project.gone() == [], output
    assert time.monotonic() - start < 25
    project.run()
    assert project.artifacts() == expected


def test_signal_reaches_a_step_that_ignores_it_and_its_children(project):
    project.set(stubborn=["specs"])
    child = project.start()
    project.wait_for_step("specs")
    time.sleep(0.3)
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    assert project.gone() == []


def test_children_of_a_killed_step_end_while_the_run_goes_on(project):
    project.set(stubborn=["plan"])
    child = project.start("--jobs", "4")
    deadline = time.monotonic() + 60
    while len(tools := [process for process in project.processes() if process.name() == "sleep"]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(3)  # the guard looks every two seconds
    step, tool = tools[0].parent(), tools[0]
    step.kill()
    assert tool.wait(timeout=15) is None
    assert child.poll() is None and tools[1].is_running()
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    assert project.gone() == []


def test_leftovers_of_a_run_that_lost_driver_and_guard_are_swept(project, expected):
    project.set(stubborn=["specs"], die_with_parent=False)
    child = project.start()
    project.wait_for_step("specs")
    time.sleep(0.3)
    upper = [process for process in project.processes() if role(process) in ("driver", "snakemake")]
    for process in upper:
        process.suspend()
    for process in upper:
        process.kill()
    child.wait(timeout=30)
    time.sleep(0.5)
    assert project.processes()
    project.set(stubborn=[], die_with_parent=True)
    assert "processes of a run that was killed" in project.run()
    assert project.gone() == [] and project.artifacts() == expected


@pytest.mark.parametrize("name", ["candidate/kernel.py", "verdict.json", "plan.json"])
def test_partial_file_of_a_killed_step_is_not_trusted(project, expected, name):
    """A step that is killed while it writes leaves half a file; Snakemake knows that the job was not done."""
    step = {"candidate/kernel.py": "candidate", "verdict.json": "verify", "plan.json": "plan"}[name]
    project.set(partial=[step, "b00", 2], sleep_s=0.05)
    child = project.start()
    project.wait_for_partial()
    for process in project.processes():
        if role(process) in ("driver", "snakemake"):
            process.kill()
    child.communicate(timeout=60)
    assert project.gone() == []
    assert "half" in (project.campaign / "b00" / "v002" / name).read_text()
    project.set(partial=None, sleep_s=0)
    project.run()
    assert project.artifacts() == expected


def test_second_run_says_who_holds_the_results(project):
    project.set(sleep_s=20)
    child = project.start()
    project.wait_for_step("specs")
    output = project.run(code=1)
    assert f"process {child.pid} " in output and len(output.strip().splitlines()) == 1
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)


def test_one_failing_bucket_fails_alone_and_is_named(project, expected):
    project.set(fail=["candidate", "b01", 2])
    output = project.run(code=1)
    steps = project.steps()
    assert "verify b00 3" in steps and "report" in steps and "verify b01 2" not in steps
    assert "b01 FAILED at v002 candidate" in output and "told to fail" in output
    assert json.loads((project.campaign / "report.json").read_text())["broken"] == ["b01"]
    failure = json.loads((project.campaign / "failures.json").read_text())["buckets"]["b01"]
    assert failure["step"] == "candidate" and failure["version"] == 2 and "told to fail" in failure["log_tail"]
    assert steps.count("candidate b01 2") == 1
    project.set(fail=None)
    project.run()
    assert project.artifacts() == expected


def test_failing_baseline_fails_the_campaign(project, expected):
    project.set(fail=["baseline", "", 0])
    output = project.run(code=1)
    assert "baseline" in output and "no report" in output
    project.set(fail=None)
    project.run()
    assert project.artifacts() == expected


def test_buckets_run_in_parallel_and_share_no_accelerator(project):
    project.set(sleep_s=0.3, buckets=3)
    project.run("--max-iters", "2", "--jobs", "4")
    spans = project.spans()
    exclusive = sorted(span for span in spans if span[2] in ("baseline", "profile", "candidate", "verify", "dispatch"))
    for (_, end, _), (start, _, _) in itertools.pairwise(exclusive):
        assert start >= end
    plans = [span for span in spans if span[2] == "plan"]
    others = [span for span in spans if span[2] != "plan"]
    assert any(
        start < other_end and other_start < end for start, end, _ in plans for other_start, other_end, _ in others
    )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--operator", "nothing"], "operator 'nothing'"),
        (["--platform", "abacus"], "platform 'abacus'"),
        (["--framework", "fortran"], "framework 'fortran'"),
        (["--mode", "turbo"], "mode"),
        (["--agent", "nobody"], "agent"),
        (["--max-iters", "0"], "max_iters"),
        (["--target-util", "2"], "target_utilization"),
        (["--jobs", "0"], "--jobs"),
        (["--profile", "moon"], "profile 'moon'"),
    ],
)
def test_bad_argument_is_one_line_before_any_job(project, flags, said):
    output = project.run(*flags, code=2)
    assert len(output.strip().splitlines()) == 1 and output.startswith("kernelwright: ")
    assert said in output
    assert project.steps() == []
