"""What reruns after an edit, and what does not; the steps are fakes, the engine is real."""

from __future__ import annotations

import json
import os
import shutil
import time

import pytest
from project import Project

CHAIN = ("candidate", "plan", "profile", "verify")


def chain(buckets: int, versions: range) -> list[str]:
    """Names of the chain steps of `versions` in each bucket."""
    return sorted(f"{step} b{b:02d} {v}" for b in range(buckets) for v in versions for step in CHAIN)


ALL = sorted(["specs", "baseline", "signatures", "buckets", "dispatch", "report", *chain(2, range(1, 4))])


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A project with 2 buckets that stopped at v003 for want of an accepted version."""
    made = Project(tmp_path_factory.mktemp("shared"))
    made.run()
    assert made.steps() == ALL
    return made


@pytest.fixture
def finished(shared):
    """The shared project, up to date before and after each test."""
    yield shared
    shared.set(accept={})
    shared.run()
    shared.steps()


def test_second_run_has_nothing_to_do(finished):
    before = finished.artifacts()
    output = finished.run()
    assert "nothing to be done" in output
    assert finished.steps() == []
    assert finished.artifacts() == before


def test_touch_reruns_nothing(finished):
    now = time.time()
    for folder in (finished.root, finished.campaign):
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                os.utime(path, (now, now))
    finished.run()
    assert finished.steps() == []


@pytest.mark.parametrize("name", ["reference.py", "input.py", "shapes.json"])
def test_edited_operator_reruns_all_of_its_campaign(finished, name):
    path = finished.operator / name
    if name == "shapes.json":
        workloads = json.loads(path.read_text())
        workloads["w1"]["input_kwargs"]["rows"] = 5
        path.write_text(json.dumps(workloads))
    else:
        path.write_text(path.read_text() + "# edited\n")
    before = finished.artifacts()
    finished.run()
    assert finished.steps() == ALL
    after = finished.artifacts()
    assert after.keys() == before.keys()
    assert not [key for key in after if after[key] == before[key] and key.endswith(("kernel.py", "verdict.json"))]


def test_edited_platform_fact_reruns_all(finished):
    path = finished.root / "config" / "platforms" / "cpu.yaml"
    path.write_text(path.read_text() + "# edited\n")
    finished.run()
    assert finished.steps() == ALL


def test_edited_report_code_reruns_the_report_alone(finished):
    path = finished.root / "scripts" / "kernelwright" / "report" / "__main__.py"
    path.write_text(path.read_text() + "\n# edited\n")
    finished.run()
    assert finished.steps() == ["report"]


def test_edited_verify_code_reruns_what_follows_a_verdict(finished):
    path = finished.root / "scripts" / "kernelwright" / "verify.py"
    path.write_text(path.read_text() + "\n# edited\n")
    finished.run()
    later = chain(2, range(2, 4))
    assert finished.steps() == sorted(["verify b00 1", "verify b01 1", *later, "dispatch", "report"])


def test_edited_library_code_of_every_step_reruns_all(finished):
    path = finished.root / "scripts" / "kernelwright" / "artifacts.py"
    path.write_text(path.read_text() + "\n# edited\n")
    finished.run()
    assert finished.steps() == ALL


def test_code_that_no_step_imports_reruns_nothing(finished):
    path = finished.root / "scripts" / "kernelwright" / "optimize.py"
    path.write_text(path.read_text() + "\n# edited\n")
    finished.run()
    assert finished.steps() == []


def test_edited_plan_in_the_middle_reruns_what_follows_in_its_bucket(finished):
    path = finished.campaign / "b01" / "v002" / "plan.json"
    record = json.loads(path.read_text())
    record["digest"] = "by hand"
    path.write_text(json.dumps(record))
    finished.run()
    later = [step for step in chain(2, range(3, 4)) if "b01" in step]
    assert finished.steps() == sorted(["candidate b01 2", "verify b01 2", *later, "dispatch", "report"])


def test_deleted_kernel_is_made_again(finished):
    before = finished.artifacts()
    (finished.campaign / "b00" / "v001" / "candidate" / "kernel.py").unlink()
    finished.run()
    assert "candidate b00 1" in finished.steps()
    assert finished.artifacts() == before


def test_raised_limits_continue_and_redo_nothing(finished):
    finished.run("--max-stall", "5")
    assert finished.steps() == sorted([*chain(2, range(4, 6)), "dispatch", "report"])
    finished.run("--max-stall", "9", "--max-iters", "7")
    assert finished.steps() == sorted([*chain(2, range(6, 8)), "dispatch", "report"])


def test_lowered_limit_runs_no_version_again(finished):
    finished.run("--max-iters", "2")
    assert finished.steps() == ["dispatch", "report"]


def test_other_agent_redoes_nothing(finished, tmp_path):
    config = tmp_path / "agent.yaml"
    config.write_text("agents: {command: {argv: [my-agent]}}\n")
    finished.run("--agent", "command", "--config", str(config))
    assert finished.steps() == []


def test_deleted_report_and_plan_are_made_again(finished):
    (finished.campaign / "report.json").unlink()
    (finished.campaign / "b01" / "v003" / "plan.json").unlink()
    finished.run()
    assert finished.steps() == ["candidate b01 3", "dispatch", "plan b01 3", "report", "verify b01 3"]


def test_edit_that_changes_where_the_search_ends(finished):
    """After the edit v002 is accepted, so that the search goes on to v005."""
    finished.set(accept={"b00": [2]})
    path = finished.operator / "reference.py"
    path.write_text(path.read_text() + "# edited\n")
    finished.run()
    assert json.loads((finished.campaign / "b00" / "v005" / "verdict.json").read_text())["kind"] == "verdict"
    assert "verify b01 4" not in finished.steps()
    assert "nothing to be done" in finished.run()


def test_stop_inside_a_chunk_leaves_no_placeholder(project):
    project.set(accept={"b00": [1, 2, 3]})
    project.run("--max-iters", "9")
    versions = sorted(path.name for path in (project.campaign / "b00").iterdir())
    assert versions == [f"v{number:03d}" for number in range(1, 7)]
    assert not [text for text in project.artifacts().values() if "pass_through" in text]


def test_chunks_change_the_passes_alone(project):
    settings = project.work / "settings.yaml"
    settings.write_text("engine: {chunk: 1}\n")
    project.run("--config", str(settings))
    assert project.steps() == ALL


def test_two_operators_are_two_campaigns(project):
    other = project.operator.with_name("other")
    shutil.copytree(project.operator, other)
    project.run("--operator", "tiny", "other")
    assert project.steps() == sorted(ALL + ALL)
    (other / "reference.py").write_text((other / "reference.py").read_text() + "# edited\n")
    project.run("--operator", "tiny", "other")
    assert project.steps() == ALL
