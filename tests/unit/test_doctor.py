"""`doctor --agent` asks the CLI itself for version and login."""

from __future__ import annotations

import pytest
from kernelwright import doctor


def cli(folder, name, script):
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ('[ "$1" = --version ] && echo 9.9 && exit; echo Logged in', 0, "all that is needed is here"),
        ('[ "$1" = --version ] && echo 9.9 && exit; echo Not logged in; exit 1', 1, "1 needed thing(s) missing"),
    ],
)
def test_an_agents_program_and_login(tmp_path, monkeypatch, capsys, script, code, words):
    cli(tmp_path, "codex", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert doctor.main(["--agent", "codex"]) == code
    said = capsys.readouterr().out
    assert "9.9" in said and words in said


def test_an_agent_that_is_not_installed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.main(["--agent", "claude"]) == 1
    assert "npm" in capsys.readouterr().out


def test_built_in_and_unknown_agents(capsys):
    assert doctor.main(["--agent", "search"]) == 0
    assert doctor.main(["--agent", "oracle"]) == 2
    assert "allowed: api, claude" in capsys.readouterr().err
