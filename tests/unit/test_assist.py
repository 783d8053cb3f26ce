"""The desk of a person's own session: what is recorded, and what its hooks stop."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from kernelwright import artifacts, assist, judging

OPERATOR = Path(__file__).parents[2] / "operators" / "l2_norm"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert assist.main(["start", "--operator", str(OPERATOR), "--platform", "cpu", "--framework", "cpp"]) == 0
    return assist.Desk(tmp_path)


def verdict(status):
    made = json.loads((Path(__file__).parent / "assist_verdict.json").read_text())
    return {**made, "status": status, "reason": None if status == "accepted" else "wrong_values"}


def judged(monkeypatch, capsys, status):
    monkeypatch.setattr(judging, "evaluate", lambda request: (verdict(status), {}))
    code = assist.main(["judge"])
    capsys.readouterr()
    return code


def hooked(monkeypatch, **event):
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(event)))
    return assist.main(["hook"])


def edit(monkeypatch, desk, file="kernel.py"):
    return hooked(
        monkeypatch, hook_event_name="PreToolUse", tool_name="Edit", tool_input={"file_path": file}, cwd=str(desk.root)
    )


def test_the_reference_is_the_first_kernel_and_incumbent(desk, capsys):
    assert desk.kernel.read_text() == desk.incumbent.read_text()
    assert assist.main(["start", "--operator", str(OPERATOR)]) == 2
    assert "there is a session already" in capsys.readouterr().err


def test_an_accepted_kernel_is_the_incumbent_and_every_attempt_is_remembered(desk, monkeypatch, capsys):
    desk.plan.write_text("# Fuse both passes\n")
    desk.kernel.write_text("# wrong\n")
    assert judged(monkeypatch, capsys, "rejected") == 1
    desk.kernel.write_text("# fast\n")
    assert judged(monkeypatch, capsys, "accepted") == 0
    assert desk.incumbent.read_text() == "# fast\n"
    assert assist.main(["memory"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("001 Fuse both passes: rejected") and said[1].startswith("002 Fuse both passes: accepted")
    assert assist.main(["status"]) == 0
    assert "2 attempts, incumbent: trial 002; next: write the plan" in capsys.readouterr().out


def test_an_edit_comes_after_memory_and_plan_of_this_attempt(desk, monkeypatch, capsys):
    assert edit(monkeypatch, desk) == 2 and "assist memory" in capsys.readouterr().err
    assert edit(monkeypatch, desk, "other.py") == 0
    assist.main(["memory"])
    assert edit(monkeypatch, desk) == 2 and "plan.md" in capsys.readouterr().err
    desk.plan.write_text("a plan")
    assert edit(monkeypatch, desk) == 0
    judged(monkeypatch, capsys, "rejected")
    for path in (desk.memory_read, desk.plan):
        os.utime(path, ns=(0, 0))
    assert edit(monkeypatch, desk) == 2


def test_the_end_comes_after_the_judge(desk, monkeypatch, capsys):
    assert hooked(monkeypatch, hook_event_name="Stop") == 0
    desk.kernel.write_text("# changed\n")
    assert hooked(monkeypatch, hook_event_name="Stop") == 2 and "assist judge" in capsys.readouterr().err
    assert hooked(monkeypatch, hook_event_name="Stop", stop_hook_active=True) == 0
    judged(monkeypatch, capsys, "rejected")
    assert hooked(monkeypatch, hook_event_name="Stop") == 0


def test_hooks_do_nothing_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert hooked(monkeypatch, hook_event_name="Stop") == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("no json"))
    assert assist.main(["hook"]) == 0


def test_without_a_desk_the_verbs_say_how_to_get_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert assist.main(["judge"]) == 2
    assert "assist start --operator NAME" in capsys.readouterr().err
    assert artifacts.read_json(Path(__file__).parent / "assist_verdict.json")["stages"] == []
