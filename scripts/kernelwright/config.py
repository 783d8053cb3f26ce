"""Load, merge and validate config/config.yaml: the one place where settings come from."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright import artifacts, paths
from kernelwright.errors import InputError


def default_path() -> Path:
    return paths.project_root() / "config" / "config.yaml"


def set_dotted(config: dict[str, Any], key: str, value: Any, where: str = "override") -> None:
    """Set `stop.max_iters`-like keys in place. Raises InputError for a key that the manual does not have."""
    *parents, last = key.split(".")
    node: Any = config
    for parent in parents:
        node = node.get(parent) if isinstance(node, dict) else None
    if not isinstance(node, dict) or last not in node:
        known = sorted(_dotted_keys(config))
        close = difflib.get_close_matches(key, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(f"{where}: unknown setting {key!r}{hint}; allowed: {', '.join(known)}")
    node[last] = value


def _dotted_keys(config: Mapping[str, Any], prefix: str = "") -> list[str]:
    keys: list[str] = []
    for name, value in config.items():
        keys += _dotted_keys(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
    return keys


def _merge(base: dict[str, Any], update: Mapping[str, Any], where: str | Path) -> None:
    for key, value in update.items():
        if isinstance(base.get(key), dict):
            if not isinstance(value, Mapping):
                raise InputError(f"{where}: {key}: {value!r}; allowed: a mapping of {', '.join(base[key])}")
            _merge(base[key], value, where)
        else:
            base[key] = copy.deepcopy(value)


def load(path: Path | None = None, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Settings from the project's config.yaml, updated by `path` (when another file) and dotted `overrides`.

    Raises InputError with one line naming file, field, value and what is allowed.
    """
    config = artifacts.load_yaml(default_path())
    where: str | Path = default_path()
    if path is not None and Path(path).resolve() != default_path().resolve():
        where = path
        if not Path(path).is_file():
            raise InputError(f"{path}: no such config file")
        update = artifacts.load_yaml(Path(path))
        if not isinstance(update, dict):
            raise InputError(f"{path}: (top level): a mapping of settings is expected")
        _merge(config, update, path)
    artifacts.validate(config, "config", where)
    if overrides:
        for key, value in overrides.items():
            set_dotted(config, key, value)
        artifacts.validate(config, "config", "command line")
    return config
