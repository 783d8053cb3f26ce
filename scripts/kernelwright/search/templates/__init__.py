"""Kernel templates by operator family. Each module of this package is one template (see base.Template)."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

NOT_TEMPLATES = ("base", "triton_base")


def names() -> list[str]:
    """Names of all templates, in alphabetical order; light, imports no template."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in NOT_TEMPLATES)


def get(name: str) -> Any:
    """The template module. Raises KeyError listing the names."""
    if name not in names():
        raise KeyError(f"no template {name!r}; there are: {', '.join(names())}")
    return import_module(f"{__name__}.{name}")


def for_family(family: str | None, framework: str) -> list[Any]:
    """Templates that may serve a family in a framework; an operator without a family may be any."""
    found = [get(name) for name in names()]
    return [t for t in found if framework == t.FRAMEWORK and (family is None or family in t.FAMILIES)]
