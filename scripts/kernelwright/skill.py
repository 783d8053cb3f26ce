"""`kernelwright skill install|uninstall`: put the workflow into a project for a person's own coding session.

Writes into the folder --prefix alone, never into a user's global settings: the skill for Claude Code
(.claude/skills), for Codex and pi (.agents/skills), and hooks for Claude Code (.claude/settings.json).
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli
from kernelwright.agents import prompt
from kernelwright.errors import InputError

SOURCE = Path(__file__).parent / "agents" / "skill"
FOLDERS = (".claude/skills/kernelwright", ".agents/skills/kernelwright")
SETTINGS = ".claude/settings.json"
MARK = "-m kernelwright assist hook"  # by which our hooks are known
EVENTS: dict[str, str | None] = {"PreToolUse": "Edit|Write|MultiEdit|NotebookEdit", "Stop": None}


def command() -> str:
    return f"{shlex.quote(sys.executable)} -m kernelwright"


def read_settings(path: Path) -> dict[str, Any]:
    """A project's settings of Claude Code. Raises InputError when they are no JSON object."""
    if not path.is_file():
        return {}
    body = artifacts.read_json(path)
    if not isinstance(body, dict) or not isinstance(body.get("hooks", {}), dict):
        raise InputError(f"{path}: a JSON object is expected, with an object for hooks")
    return body


def without_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without our hooks; what others have put there stays."""
    kept = {}
    for event, groups in settings.get("hooks", {}).items():
        found = []
        for group in groups:
            others = [one for one in group.get("hooks", []) if MARK not in str(one.get("command"))]
            if others:
                found.append({**group, "hooks": others})
        if found:
            kept[event] = found
    rest = {key: value for key, value in settings.items() if key != "hooks"}
    return {**rest, "hooks": kept} if kept else rest


def with_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with our hooks once."""
    settings = without_hooks(settings)
    hooks = dict(settings.get("hooks", {}))
    for event, matcher in EVENTS.items():
        own: dict[str, Any] = {"hooks": [{"type": "command", "command": f"{shlex.quote(sys.executable)} {MARK}"}]}
        hooks[event] = [*hooks.get(event, []), {**({"matcher": matcher} if matcher else {}), **own}]
    return {**settings, "hooks": hooks}


def write_settings(path: Path, settings: dict[str, Any]) -> None:
    if settings:
        artifacts.write_text(path, json.dumps(settings, indent=2) + "\n")
    else:
        path.unlink(missing_ok=True)


def install(prefix: Path, hooks_only: bool) -> list[Path]:
    """Returns the files that were written."""
    settings = prefix / SETTINGS
    write_settings(settings, with_hooks(read_settings(settings)))
    written = [settings]
    for folder in () if hooks_only else FOLDERS:
        text = prompt.filled((SOURCE / "SKILL.md").read_text(), command=command())
        artifacts.write_text(prefix / folder / "SKILL.md", text)
        written.append(prefix / folder / "SKILL.md")
    return written


def uninstall(prefix: Path, hooks_only: bool) -> list[Path]:
    """Returns what was removed."""
    settings = prefix / SETTINGS
    removed = []
    if settings.is_file():
        before = read_settings(settings)
        after = without_hooks(before)
        if after != before:
            write_settings(settings, after)
            removed.append(settings)
    for folder in () if hooks_only else FOLDERS:
        if (prefix / folder).is_dir():
            shutil.rmtree(prefix / folder)
            removed.append(prefix / folder)
    return removed


@cli.guarded
def main(argv: Sequence[str] | None = None) -> int:
    flags = argparse.ArgumentParser(prog="kernelwright skill", description=(__doc__ or "").splitlines()[0])
    flags.add_argument("action", choices=("install", "uninstall"))
    flags.add_argument("--prefix", type=Path, default=Path("."), help="the project's folder")
    flags.add_argument("--hooks-only", action="store_true", help="the hooks without the skill")
    arguments = flags.parse_args(argv)
    if not arguments.prefix.is_dir():
        raise InputError(f"--prefix {arguments.prefix}: no such folder")
    function = install if arguments.action == "install" else uninstall
    for path in function(arguments.prefix, arguments.hooks_only):
        print(f"{arguments.action}ed {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
