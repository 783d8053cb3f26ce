"""Turn a configuration into a concrete one, and refuse what cannot run before any job starts."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright import paths
from kernelwright.errors import InputError

STEP_PYTHON = "KERNELWRIGHT_STEP_PYTHON"  # interpreter of the steps; tests put theirs here


def set_environment(config_file: str) -> None:
    """What the rules' shells read: the interpreter, the package's path and the merged settings."""
    os.environ.setdefault(STEP_PYTHON, sys.executable)
    os.environ["KERNELWRIGHT_CONFIG"] = config_file
    os.environ["KERNELWRIGHT_RUN"] = "1"  # steps die with their parent
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(paths.PACKAGE.parent), *inherited]))


def resolved(config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with `auto` replaced: the platform of this machine, and its frameworks that are installed here.

    Raises InputError when the platform is unknown or none of its frameworks can be used.
    """
    found = copy.deepcopy(dict(config))
    if found["platform"] != "auto" and found["frameworks"] != "auto":
        return found
    from kernelwright.knowledge import platforms

    platform = platforms.load(config["platform"])
    found["platform"] = platform.name
    if found["frameworks"] == "auto":
        found["frameworks"] = platforms.frameworks_available(platform)
        if not found["frameworks"]:
            raise InputError(
                f"frameworks auto: none of {', '.join(platform.frameworks)} is installed for platform {platform.name}; "
                "`kernelwright doctor` says how to get one"
            )
    return found


def checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """`resolved`, with each operator, the platform, each framework and the agent known to exist. Raises InputError."""
    from kernelwright import agents, frameworks, operators
    from kernelwright.knowledge import platforms

    found = copy.deepcopy(dict(config))
    if found["operator_dir"] is not None:
        operator = operators.load(Path(found["operator_dir"]))
        found["operator_dir"] = str(operator.source)
        found["operators"] = [operator.name]
    for name in found["operators"]:
        operators.load(operators.find(name, found["operator_dir"]))
    platform = platforms.load(found["platform"])
    found["platform"] = platform.name
    found = resolved(found)
    for name in found["frameworks"]:
        if name not in platform.frameworks:
            allowed = ", ".join(platform.frameworks)
            raise InputError(f"framework {name!r}: not one of platform {platform.name}'s; allowed: {allowed}")
        frameworks.get(name)
    for name in (found["agent"], *found["agents"]["session"]["reviewers"]):
        agents.get(name)
    if found["agent"] == "command" and not found["agents"]["command"]["argv"]:
        raise InputError(
            "agents.command.argv: empty; agent command needs the program to run, in a file given by --config"
        )
    return found
