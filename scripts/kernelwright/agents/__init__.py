"""Who writes plans and candidates. An agent is a module here with an `AGENT` object (base.Agent), found by its name."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from kernelwright.errors import InputError


@cache
def names() -> tuple[str, ...]:
    """Modules of this folder that define AGENT; their text is read, since importing all of them takes long."""
    found = sorted(Path(__file__).parent.glob("*.py"))
    return tuple(path.stem for path in found if re.search(r"^AGENT = ", path.read_text(), re.MULTILINE))


def get(name: str) -> Any:
    """The agent called `name`. Raises InputError listing the names."""
    if name not in names():
        raise InputError(f"agent {name!r}: not supported; allowed: {', '.join(names())}")
    return import_module(f"{__name__}.{name}").AGENT
