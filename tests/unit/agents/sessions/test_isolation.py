"""What is mounted behind an agent's walls, and what happens without bubblewrap."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from kernelwright.agents.sessions import isolation
from kernelwright.errors import InputError


def mounts(words, flag):
    return [words[index + 1] for index, word in enumerate(words) if word == flag]


def test_a_cli_of_npm_brings_its_node_modules_also_through_links(tmp_path):
    package = tmp_path / "real" / "node_modules" / "cli"
    package.mkdir(parents=True)
    (package / "run.js").write_text("#!/usr/bin/env node\n")
    (package / "run.js").chmod(0o755)
    programs = package.parent / ".bin"
    programs.mkdir()
    (programs / "cli").symlink_to("../cli/run.js")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    search = str(tmp_path / "link" / "node_modules" / ".bin")
    assert isolation.located("cli", search) == programs / "cli"
    folders = isolation.program_folders("cli", search)
    assert programs in folders and package in folders and package.parent in folders
    assert isolation.program_folders("absent", search) == []


def test_only_the_folder_and_the_clis_state_are_writable(tmp_path):
    work, state, private = tmp_path / "work", tmp_path / "home" / ".claude", tmp_path / "private"
    for folder in (work, state, private):
        folder.mkdir(parents=True)
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin"}
    words = isolation.bubblewrap(sys.executable, [work], [state, tmp_path / "absent"], private, environment)
    assert mounts(words, "--bind") == [str(state), str(work)]
    assert mounts(words, "--tmpfs") == ["/tmp", str(tmp_path / "home")]
    assert str(private) in mounts(words, "--ro-bind") and words[-3:] == ["--chdir", str(work), "--"]
    package = Path(isolation.__file__).parents[2]
    visible = [Path(path) for path in mounts(words, "--ro-bind")]
    assert not any(folder == package or folder in package.parents for folder in visible if folder != Path(sys.prefix))


def test_without_bubblewrap(tmp_path, monkeypatch):
    monkeypatch.setattr(isolation, "works", lambda: False)
    found = isolation.walls("auto", "claude", [tmp_path], [], tmp_path, {})
    assert (found.prefix, found.record["level"], len(found.record["missing"])) == ([], "none", 1)
    assert isolation.walls("none", "claude", [tmp_path], [], tmp_path, {}).prefix == []
    with pytest.raises(InputError, match="does not work on this machine"):
        isolation.walls("required", "claude", [tmp_path], [], tmp_path, {})


def test_the_state_of_a_cli_lies_where_its_variables_say(tmp_path):
    environment = {"HOME": "/me", "CODEX_HOME": "/elsewhere"}
    assert isolation.state_paths((".codex",), environment) == [Path("/me/.codex"), Path("/elsewhere")]
