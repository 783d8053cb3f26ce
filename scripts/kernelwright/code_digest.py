"""Digest of the library code a step depends on: its import closure, schemas and templates.

Each rule carries the digest as a param, so that an edit of library code reruns exactly the steps that import it.
Imports inside functions count. Modules that a step loads by name (agents, frameworks) are given as `extra`.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kernelwright import artifacts, paths
from kernelwright.errors import InputError

PACKAGE_NAME = "kernelwright"
FORMAT = 2  # of the cache entries below

# Packages that a step or a module is known to reach by name at run time: child processes (`-m kernelwright...`) and importlib.
JUDGING = ("judge", "sandbox", "operators")
EXTRAS: dict[str, tuple[str, ...]] = {
    "baseline": JUDGING,
    "signatures": ("operators",),
    "profile": ("profilers", "operators"),
    "candidate": JUDGING,
    "verify": JUDGING,
    "dispatch": JUDGING,
    "report": ("report",),
    "agents.search": ("search",),
}


def _cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / PACKAGE_NAME / "imports"


def _module_files(name: str, root: Path) -> Path | None:
    """File of dotted module `name` (below the package root), None when there is none."""
    stem = root.joinpath(*name.split(".")) if name else root
    for path in (stem.with_suffix(".py") if name else stem / "__init__.py", stem / "__init__.py"):
        if path.is_file():
            return path
    return None


def _from_imports(node: ast.ImportFrom, package: str) -> list[str]:
    """Dotted names, below the package root, that a from-import may load."""
    if node.level:
        parts = package.split(".") if package else []
        base = ".".join(parts[: len(parts) - (node.level - 1)])
        module = ".".join(part for part in (base, node.module) if part)
    elif node.module == PACKAGE_NAME or (node.module or "").startswith(PACKAGE_NAME + "."):
        module = (node.module or "")[len(PACKAGE_NAME) + 1 :]
    else:
        return []
    return [module, *(f"{module}.{alias.name}" if module else alias.name for alias in node.names)]


def _analyse(source: bytes, package: str) -> dict[str, list[str]]:
    """Imports of one source file and the words that could name an artifact kind."""
    tree = ast.parse(source)
    imports: set[str] = set()
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imports.update(_from_imports(node, package))
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            imports.update(name[len(PACKAGE_NAME) + 1 :] for name in names if name.split(".")[0] == PACKAGE_NAME)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[a-z_]+", node.value):
            words.add(node.value)
    return {"imports": sorted(imports), "words": sorted(words)}


@cache
def _facts(path: Path, package: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """(sha256, imports, words) of a source file; the analysis is cached by content outside the project."""
    source = path.read_bytes()
    digest = hashlib.sha256(source).hexdigest()
    entry = _cache_dir() / f"{FORMAT}-{hashlib.sha256(f'{digest}:{package}'.encode()).hexdigest()[:32]}.json"
    try:
        found = json.loads(entry.read_text())
    except (OSError, ValueError):
        found = _analyse(source, package)
        with contextlib.suppress(OSError):  # a read-only home only costs time
            artifacts.write_text(entry, json.dumps(found))
    return digest, tuple(found["imports"]), tuple(found["words"])


def closure(modules: Iterable[str], root: Path = paths.PACKAGE) -> dict[str, Path]:
    """Module name (below the package) -> file, for all modules that importing `modules` may load."""
    found: dict[str, Path] = {}
    todo = list(modules)
    while todo:
        name = todo.pop()
        path = _module_files(name, root)
        if path is None or name in found:
            continue
        found[name] = path
        if name:
            todo.append(name.rpartition(".")[0])  # importing a.b runs a/__init__.py
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        todo += _facts(path, package)[1]
    return found


def _schemas(words: set[str]) -> list[Path]:
    """Schema files of the kinds among `words`, and those they refer to."""
    folder = paths.schemas_dir()
    found: dict[str, Path] = {}
    todo = sorted(words)
    while todo:
        path = folder / f"{todo.pop()}.schema.yaml"
        if path.name in found or not path.is_file():
            continue
        found[path.name] = path
        todo += re.findall(r"([a-z_]+)\.schema\.yaml", path.read_text())
    return [found[name] for name in sorted(found)]


@cache
def _data_files(folder: Path) -> list[Path]:
    """Files beside the modules of a package that are no modules: templates, prompts, styles."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            found.append(path)
        elif path.is_dir() and not (path / "__init__.py").exists() and path.name != "__pycache__":
            found += [file for file in sorted(path.rglob("*")) if file.is_file() and file.suffix != ".pyc"]
    return found


def _submodules(name: str, root: Path) -> list[str]:
    """`name` itself, and every module below it when it is a package. Raises InputError for an unknown one."""
    path = _module_files(name, root)
    if path is None:
        raise InputError(f"code digest: there is no module {PACKAGE_NAME}.{name}")
    if path.name != "__init__.py":
        return [name]
    files = sorted(path.parent.rglob("*.py"))
    dotted = [".".join(file.relative_to(root).with_suffix("").parts) for file in files]
    return [name, *(module.removesuffix(".__init__") for module in dotted)]


@cache
def digest(step: str, extra: tuple[str, ...] = (), root: Path = paths.PACKAGE) -> str:
    """sha256 (first 16 digits) over the step's import closure and schemas. Raises InputError for an unknown module."""
    reached = [name for user in (step, *extra) for name in EXTRAS.get(user, ())]
    names = [name for given in (*reached, *extra) for name in _submodules(given, root)]
    entry = f"{step}.__main__" if (root / step / "__main__.py").is_file() else step
    modules = closure([*_submodules(entry, root)[:1], *names], root)
    lines = []
    words: set[str] = set()
    for name, path in sorted(modules.items()):
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        sha256, _, found = _facts(path, package)
        words.update(found)
        lines.append(f"{name} {sha256}")
    folders = {path.parent for path in modules.values()} - {root}
    files = [*_schemas(words), *(path for folder in sorted(folders) for path in _data_files(folder))]
    lines += [f"{path.name} {artifacts.sha256_file(path)}" for path in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
