"""What kernels are written in: one module per framework, found by its file name.

Interface of a module: NAME, VENDORS (platform vendors it serves), `availability() -> (bool, sentence)`, GUIDANCE (a
Markdown page for agents) and `own_kernels(source) -> list[str]`, the kernels a candidate file defines, for attribution.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

from kernelwright.errors import InputError


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def get(name: str) -> Any:
    """The framework's module. Raises InputError listing the names."""
    if name not in names():
        raise InputError(f"framework {name!r}: not supported; allowed: {', '.join(names())}")
    return import_module(f"{__name__}.{name}")


def available(vendor: str) -> dict[str, tuple[bool, str]]:
    """Framework -> (usable here, why or how to get it) for the frameworks of a platform vendor."""
    modules = [get(name) for name in names()]
    return {module.NAME: module.availability() for module in modules if vendor in module.VENDORS}
