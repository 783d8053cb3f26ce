"""Who writes plans and candidates. An agent is a module here with an `AGENT` object (base.Agent), loaded by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kernelwright.errors import InputError

NAMES = ("command", "search")


def get(name: str) -> Any:
    """The agent called `name`. Raises InputError listing the names."""
    if name not in NAMES:
        raise InputError(f"agent {name!r}: not supported; allowed: {', '.join(NAMES)}")
    return import_module(f"{__name__}.{name}").AGENT
