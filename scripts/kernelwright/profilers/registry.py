"""Profilers by name: the built-in ones and those of packages (entry points of group `kernelwright.profilers`)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any

from kernelwright.errors import InputError

GROUP = "kernelwright.profilers"
BUILTIN = {name: f"kernelwright.profilers.{name}" for name in ("ncu", "rocprof", "perf")}


def everyone() -> dict[str, Any]:
    """Name -> profiler. Raises InputError naming a plugin that cannot be loaded or takes a built-in name."""
    found = {name: importlib.import_module(module) for name, module in BUILTIN.items()}
    for entry in sorted(entry_points(group=GROUP), key=lambda item: item.name):
        if BUILTIN.get(entry.name) == entry.value:
            continue
        if entry.name in found:
            raise InputError(f"profiler plugin {entry.name!r} ({entry.value}): the name is taken")
        try:
            found[entry.name] = entry.load()
        except Exception as error:  # a plugin is other people's code: name it, whatever it raises
            raise InputError(f"profiler plugin {entry.name!r} ({entry.value}): {error!r}") from None
    return found


def chosen(setting: str | Sequence[str], vendor: str) -> list[tuple[str, Any]]:
    """Profilers for a vendor: all of them for `auto`, else those named. Raises InputError for an unknown name."""
    known = everyone()
    names = list(known) if setting == "auto" else list(setting)
    for name in names:
        if name not in known:
            raise InputError(f"knowledge.profilers: {name!r} is not one of auto, {', '.join(known)}")
    return [(name, known[name]) for name in names if vendor in known[name].VENDORS]
