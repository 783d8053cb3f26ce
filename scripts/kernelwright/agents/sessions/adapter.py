"""What a module for one CLI says about it: how it is started and resumed, and how its output is read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from kernelwright.agents.sessions.reader import Reader
from kernelwright.agents.sessions.record import Tokens
from kernelwright.errors import InputError

KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TERM", "USER", "SHELL", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
        "https_proxy", "no_proxy")  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """A user's settings of one CLI: KERNELWRIGHT_<NAME>_SESSION_SETTINGS, else KERNELWRIGHT_SESSION_SETTINGS, in JSON."""

    model: str | None = None
    effort: str | None = None
    provider: str | None = None  # pi, api
    args: list[str] = field(default_factory=list)  # more arguments, as they are; never a secret
    env: dict[str, str] = field(default_factory=dict, repr=False)  # for the CLI alone; may hold secrets
    settings: dict[str, Any] | None = field(default=None, repr=False)  # claude, qodercli: their --settings
    base_url: str | None = None  # api


def settings_of(name: str, environment: Mapping[str, str], config: Mapping[str, Any]) -> Settings:
    """The settings of CLI `name`; `model` and `effort` of the config hold where it has none. Raises InputError."""
    variable = f"KERNELWRIGHT_{name.upper()}_SESSION_SETTINGS"
    if variable not in environment:
        variable = "KERNELWRIGHT_SESSION_SETTINGS"
    text = environment.get(variable, "{}")
    try:
        given = json.loads(text)
    except ValueError:
        raise InputError(f"{variable}: not valid JSON") from None  # its text may hold secrets
    known = [item.name for item in fields(Settings)]
    if not isinstance(given, dict) or set(given) - set(known):
        wrong = ", ".join(sorted(set(given) - set(known))) if isinstance(given, dict) else "no object"
        raise InputError(f"{variable}: {wrong}: not allowed; allowed keys: {', '.join(known)}")
    for key, kind in (("args", list), ("env", dict), ("settings", dict)):
        if not isinstance(given.get(key, kind()), kind):
            raise InputError(f"{variable}: {key}: a JSON {'array' if kind is list else 'object'} is expected")
    for word in given.get("args", []):
        if re.match(r"--?(api-?key|token|password)\b", str(word), re.IGNORECASE):
            raise InputError(f"{variable}: args: {word.split('=')[0]}: other users can read arguments; set it in env")
    given["args"] = [str(word) for word in given.get("args", [])]
    given["env"] = {key: str(value) for key, value in given.get("env", {}).items()}
    own = {key: config[key] for key in ("model", "effort") if config.get(key) is not None}
    return Settings(**{**own, **given})


@dataclass(frozen=True)
class Launch:
    """One start of a CLI. `session_id` is preset for a fresh session and the one to go on with when `resume`."""

    prompt: str
    session_id: str
    settings: Settings
    private: Path  # a folder of the supervisor that the CLI may read
    mcp: list[str] | None = None  # command of the tool server for CLIs that speak MCP
    resume: bool = False
    cost_usd: float | None = None  # limit, for CLIs that tell their cost at the end only


class Adapter:
    """One CLI. A module for another one subclasses this and touches nothing else."""

    NAME: ClassVar[str]
    PROGRAM: ClassVar[str]
    VARIABLES: ClassVar[tuple[str, ...]] = ()  # prefixes of environment variables that are the CLI's own
    STATE: ClassVar[tuple[str, ...]] = ()  # what it writes below HOME: its login and its session files
    LOGIN: ClassVar[tuple[str, ...]] = ()  # arguments of its own command that says whether it is logged in
    INSTALL: ClassVar[str] = ""
    RESUMES: ClassVar[bool] = True
    LIVE_TOKENS: ClassVar[bool] = True  # the stream tells tokens while it runs

    def argv(self, launch: Launch) -> list[str]:
        """The command. Secrets are never in it: other users can read it."""
        raise NotImplementedError

    def reader(self, resumed: bool = False) -> Reader:
        raise NotImplementedError

    def extra_environment(self, launch: Launch) -> dict[str, str]:
        """Variables that make the CLI run unattended."""
        return {}

    def recovered(self, session_id: str | None, environment: Mapping[str, str], folder: Path) -> Tokens | None:
        """Tokens of all runs of a session by the CLI's own session file; None where it has none."""
        return None

    def version(self, environment: Mapping[str, str]) -> str | None:
        """What `--version` prints; None when the program is not there or does not run."""
        search = environment.get("PATH", os.defpath)
        found = shutil.which(self.PROGRAM, path=search)
        return None if found is None else _version(found, search, environment.get("HOME", "/nonexistent"))

    def login(self, environment: Mapping[str, str]) -> tuple[bool | None, str]:
        """(whether the CLI says that it is logged in, its words); None where it has no command that says so."""
        program = shutil.which(self.PROGRAM, path=environment.get("PATH", os.defpath))
        if program is None or not self.LOGIN:
            return None, "the CLI has no command that says so" if program else "not installed"
        try:
            done = subprocess.run([program, *self.LOGIN], capture_output=True, text=True, timeout=60, check=False,
                                  stdin=subprocess.DEVNULL, env=dict(environment))  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, type(error).__name__
        said = " ".join((done.stdout + done.stderr).split())
        refused = re.search(r'not logged in|"loggedIn": ?false', said, re.IGNORECASE)
        return done.returncode == 0 and refused is None, "not logged in" if refused else said[:100]

    def environment(self, launch: Launch, current: Mapping[str, str] | None = None) -> dict[str, str]:
        """A short list that is kept, the CLI's own variables, and the user's for it: nothing else reaches the agent."""
        current = os.environ if current is None else current
        kept = {
            key: value for key, value in current.items() if key in KEPT or key.startswith(self.VARIABLES or ("\0",))
        }
        return {**kept, **self.extra_environment(launch), **launch.settings.env}


@cache
def _version(path: str, search: str, home: str) -> str | None:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False,
                              stdin=subprocess.DEVNULL, env={"PATH": search, "HOME": home})  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return lines[-1][:80] if done.returncode == 0 and lines else None


def jsonl(path: Path) -> list[dict[str, Any]]:
    """Objects of a file of JSON lines; a line that a kill cut is left out."""
    found = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found
