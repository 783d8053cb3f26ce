"""Walls around a CLI, by bubblewrap: it sees its folder, its own state and the system's programs, nothing else.

What an agent must not see is simply not mounted: results of campaigns, operators with their workloads, the judge's
socket, the user's home. Devices are not mounted either: a kernel is run by the judge. The network stays, since the
model is behind it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.errors import InputError

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/snap")
PREFERENCES = ("auto", "required", "none")


@dataclass(frozen=True)
class Walls:
    """`prefix` goes before the command; `record` is kept in the session's record."""

    prefix: list[str]
    record: dict[str, Any]


def works() -> bool:
    """Whether bubblewrap is here and this machine lets it make namespaces."""
    program = shutil.which("bwrap")
    if program is None:
        return False
    command = [program, "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--dev", "/dev", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def located(program: str, search: str | None) -> Path | None:
    """Where a program lies, links in its folder's path resolved, the program's own link kept."""
    found = shutil.which(program, path=search)
    return None if found is None else Path(found).absolute().parent.resolve() / Path(found).name


def program_folders(program: str, search: str | None) -> list[Path]:
    """Folders that a program needs to run: those of each link on its way and, for Node's, the outermost node_modules."""
    path = located(program, search)
    folders = []
    while path is not None:
        folders.append(path.parent)
        folders += [parent for parent in path.parents if parent.name == "node_modules"]
        path = (path.parent / path.readlink()).absolute() if path.is_symlink() else None
        path = None if path is None else path.parent.resolve() / path.name
    return folders


def readable(program: str, environment: Mapping[str, str]) -> list[Path]:
    """Folders outside the system's that are mounted read-only: the CLI, Node, Python and its packages, the tools."""
    search = environment.get("PATH")
    found = [
        *program_folders(program, search),
        *program_folders("node", search),
        *program_folders(sys.executable, None),
    ]
    node = shutil.which("node", path=search)
    if node is not None and Path(node).resolve().parent.name == "bin":
        found.append(Path(node).resolve().parent.parent)
    found += [Path(sys.prefix), Path(sys.base_prefix)]
    found += [Path(folder) for folder in sys.path if folder.endswith(("site-packages", "dist-packages"))]
    found.append(Path(__file__).resolve().parents[1] / "tools")
    return [folder for folder in dict.fromkeys(found) if folder.exists() and not _in_system(folder)]


def _in_system(folder: Path) -> bool:
    return any(folder == Path(root) or Path(root) in folder.parents for root in SYSTEM)


def bubblewrap(
    program: str, writable: Sequence[Path], state: Sequence[Path], private: Path, environment: Mapping[str, str]
) -> list[str]:
    """The command line before the CLI's. `writable`: its folder; `state`: files of its login, mounted where they are."""
    words = ["bwrap", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
             "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # fmt: skip
    home = environment.get("HOME")
    if home and Path(home) != Path("/"):
        words += ["--tmpfs", home]
    names = Path("/etc/resolv.conf").resolve()  # often a link to a folder that is not mounted
    for folder in (*SYSTEM, str(names)):
        words += ["--ro-bind-try", folder, folder]
    for path in readable(program, environment):
        words += ["--ro-bind", str(path), str(path)]
    for path in state:
        if path.exists():
            words += ["--bind", str(path), str(path)]
    words += ["--ro-bind", str(private), str(private)]
    for path in writable:
        words += ["--bind", str(path), str(path)]
    return [*words, "--chdir", str(writable[0]), "--"]


def walls(
    preference: str, program: str, writable: Sequence[Path], state: Sequence[Path], private: Path,
    environment: Mapping[str, str],
) -> Walls:  # fmt: skip
    """Walls by preference: auto (bubblewrap where it works), required, none. Raises InputError when required and absent."""
    if preference not in PREFERENCES:
        raise InputError(f"config: agents.session.isolation: {preference!r}; allowed: {', '.join(PREFERENCES)}")
    if preference == "none":
        return Walls([], {"level": "none", "missing": ["bubblewrap: switched off"]})
    if not works():
        if preference == "required":
            raise InputError("config: agents.session.isolation: required, but bubblewrap does not work on this machine")
        return Walls([], {"level": "none", "missing": ["bubblewrap: not on this machine"]})
    for path in state:
        if not path.suffix and not path.exists():
            path.mkdir(parents=True, mode=0o700)
    prefix = bubblewrap(program, writable, state, private, environment)
    return Walls(prefix, {"level": "bubblewrap", "missing": []})


def state_paths(names: Sequence[str], environment: Mapping[str, str]) -> list[Path]:
    """The CLI's state below HOME, and the folders that variables of its own name."""
    home = Path(environment.get("HOME") or os.path.expanduser("~"))
    found = [home / name for name in names]
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        if environment.get(variable):
            found.append(Path(environment[variable]))
    return found
