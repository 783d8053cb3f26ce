"""Parameters of a kernel's entry point, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelwright.dispatcher.rename import MergeError


@dataclass(frozen=True)
class Parameter:
    """A named parameter; `default` is source text of the merged file, None when there is none."""

    name: str
    default: str | None = None
    keyword_only: bool = False


def _default(node: ast.expr | None, names: Mapping[str, str]) -> str | None:
    """Source of a default value with module-level names as the merged file calls them."""
    if node is None:
        return None
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            inner.id = names.get(inner.id, inner.id)
    return ast.unparse(node)


def of_function(function: ast.FunctionDef, names: Mapping[str, str], method: bool) -> list[Parameter] | None:
    """Parameters without self; None when there are * or ** ones, which say nothing about the call."""
    given = function.args
    if given.vararg or given.kwarg:
        return None
    positional = [*given.posonlyargs, *given.args]
    padding: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    pairs = [
        (argument.arg, default, False)
        for argument, default in zip(positional, [*padding, *given.defaults], strict=True)
    ]
    pairs += [
        (argument.arg, default, True) for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return [Parameter(name, _default(default, names), only) for name, default, only in pairs[1 if method else 0 :]]


def definition(tree: ast.Module, name: str, label: str) -> ast.ClassDef | ast.FunctionDef:
    """The top-level class or function of that name. Raises MergeError when there is none."""
    found = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
    if not found:
        raise MergeError(f"{label}: defines no top-level class or function {name}")
    if isinstance(found[-1], ast.ClassDef) and not found[-1].bases:
        raise MergeError(f"{label}: class {name} is not a torch.nn.Module")
    return found[-1]


def method(tree: ast.Module, owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """A method of a class or of its bases in the same file."""
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    for base in owner.bases:
        for node in tree.body:
            if isinstance(base, ast.Name) and isinstance(node, ast.ClassDef) and node.name == base.id:
                found = method(tree, node, name)
                if found is not None:
                    return found
    return None


def declared(parameters: Sequence[Parameter]) -> str:
    """Text of a parameter list."""
    parts: list[str] = []
    for parameter in parameters:
        if parameter.keyword_only and "*" not in parts:
            parts.append("*")
        parts.append(parameter.name if parameter.default is None else f"{parameter.name}={parameter.default}")
    return ", ".join(parts)


def passed(parameters: Sequence[Parameter], by_name: bool) -> str:
    """Text of the arguments of a call that passes every parameter on."""
    return ", ".join(
        f"{parameter.name}={parameter.name}" if by_name or parameter.keyword_only else parameter.name
        for parameter in parameters
    )
