"""Installing the skill writes into one folder alone and takes back exactly what it put there."""

from __future__ import annotations

import json

import pytest
from kernelwright import skill

OTHERS = {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo done"}]}]}}


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_install_and_uninstall_leave_nothing(tmp_path, capsys):
    assert skill.main(["install", "--prefix", str(tmp_path)]) == 0
    assert files(tmp_path) == [".agents/skills/kernelwright/SKILL.md", ".claude/settings.json",
                               ".claude/skills/kernelwright/SKILL.md"]  # fmt: skip
    text = (tmp_path / ".agents/skills/kernelwright/SKILL.md").read_text()
    assert text.startswith("---\nname: kernelwright\n") and "-m kernelwright`" in text
    assert skill.main(["uninstall", "--prefix", str(tmp_path)]) == 0
    assert files(tmp_path) == []


def test_settings_of_others_stay_and_ours_come_once(tmp_path, capsys):
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(OTHERS))
    for _ in range(2):
        assert skill.main(["install", "--prefix", str(tmp_path), "--hooks-only"]) == 0
    body = json.loads(path.read_text())
    assert body["model"] == "opus" and len(body["hooks"]["Stop"]) == 2 and len(body["hooks"]["PreToolUse"]) == 1
    assert files(tmp_path) == [".claude/settings.json"]
    assert skill.main(["uninstall", "--prefix", str(tmp_path)]) == 0
    assert json.loads(path.read_text()) == OTHERS


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}'])
def test_settings_that_cannot_be_read_are_left_alone(tmp_path, capsys, text):
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(text)
    assert skill.main(["install", "--prefix", str(tmp_path)]) == 2
    assert path.read_text() == text and "settings.json" in capsys.readouterr().err
