"""Look into an operator's Python source without running it."""

from __future__ import annotations

import ast
from pathlib import Path

from kernelwright.errors import InputError


def parse(text: str, where: str | Path) -> ast.Module:
    """Syntax tree. Raises InputError naming file and line."""
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"{where}:{error.lineno}: not valid Python ({error.msg})") from None


def parse_file(path: Path) -> ast.Module:
    try:
        return parse(path.read_text(), path)
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None


def definition(tree: ast.Module, name: str) -> ast.FunctionDef | ast.ClassDef | None:
    """The top-level function or class of that name; the last one wins, as it does when Python runs the file."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name]
    return found[-1] if found else None


def has_name(tree: ast.Module, name: str) -> bool:
    """True when the file defines, assigns or imports `name` at top level."""
    if definition(tree, name) is not None:
        return True
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return True
        if isinstance(node, ast.Import | ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
            return True
    return False


def method(tree: ast.Module, class_name: str, name: str) -> ast.FunctionDef | None:
    node = definition(tree, class_name)
    if not isinstance(node, ast.ClassDef):
        return None
    found = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == name]
    return found[-1] if found else None


def argument_names(function: ast.FunctionDef) -> list[str]:
    """Named parameters in order, without self, *args and **kwargs."""
    arguments = function.args
    names = [item.arg for item in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return [name for name in names if name != "self"]


def require(tree: ast.Module, names: tuple[str, ...], where: str | Path) -> None:
    """Raises InputError naming the definitions that the file lacks."""
    missing = [name for name in names if not has_name(tree, name)]
    if missing:
        raise InputError(f"{where}: does not define {', '.join(missing)}; needed at top level: {', '.join(names)}")
