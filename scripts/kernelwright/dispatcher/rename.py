"""Rename module-level names of a Python source in its text, leaving every other character as it was.

Positions come from the syntax tree; the result is proven by compiling both texts and comparing their bytecode with
the names mapped, so a rename is either exact or refused.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping

from kernelwright.dispatcher import fstrings
from kernelwright.dispatcher.bytecode import same_program
from kernelwright.dispatcher.scopes import Occurrences, bound_alias
from kernelwright.errors import KernelwrightError

Edit = tuple[int, int, str]  # bytes from, to, text


class MergeError(KernelwrightError):
    """The sources cannot be merged into one file; the text says why."""


class Source:
    """A text with its tree and a map from the tree's positions (line, UTF-8 column) to byte offsets."""

    def __init__(self, text: str, label: str) -> None:
        self.label = label
        self.data = text.encode()
        try:
            self.tree = ast.parse(text)
        except SyntaxError as error:
            raise MergeError(f"{label}: line {error.lineno}: {error.msg}") from None
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )


def _find(source: Source, pattern: str, start: int, stop: int) -> tuple[int, int]:
    found = re.compile(pattern.encode()).search(source.data, start, stop)
    if found is None:
        raise MergeError(f"{source.label}: cannot place a name near byte {start}")
    return found.span(1)


def _edit_of(source: Source, node: ast.AST, name: str, new: str) -> Edit:
    start, stop = source.span(node)
    quoted = re.escape(name)
    if isinstance(node, ast.Name):
        return (start, stop, new)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (*_find(source, rf"(?:def|class)(?:\s|\\\r?\n)+({quoted})\b", start, stop), new)
    if isinstance(node, ast.Global):
        return (*_find(source, rf"\b({quoted})\b", start + len("global"), stop), new)
    if isinstance(node, ast.ExceptHandler):
        after = source.span(node.type)[1] if node.type else start
        return (*_find(source, rf"\bas\s+({quoted})\b", after, stop), new)
    if isinstance(node, ast.alias):
        if node.asname:
            return (*_find(source, rf"\bas\s+({quoted})\b", start, stop), new)
        if "." in node.name:
            raise MergeError(
                f"{source.label}: `import {node.name}` binds {bound_alias(node)!r}, which another kernel "
                "uses for something else"
            )
        return (stop, stop, f" as {new}")
    raise MergeError(
        f"{source.label}: line {node.lineno}: {type(node).__name__} binds {name!r} "  # type: ignore[attr-defined]
        "at module level, which cannot be renamed"
    )


def _joined_strings(tree: ast.AST) -> Iterator[ast.JoinedStr]:
    """The outermost f-strings."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.JoinedStr):
            yield child
        else:
            yield from _joined_strings(child)


def _fstring_edits(source: Source, renames: Mapping[str, str], wanted: set[int]) -> tuple[list[Edit], set[int]]:
    """Edits inside f-strings, whose insides have no usable positions before Python 3.12; and the nodes covered."""
    edits: list[Edit] = []
    covered: set[int] = set()
    for joined in _joined_strings(source.tree):
        names = list(fstrings.names_in_order(joined))
        covered.update(id(name) for name in names)
        if not any(id(name) in wanted for name in names):
            continue
        start, stop = source.span(joined)
        places = fstrings.places(source.data[start:stop].decode())
        if places is None or [name for name, _, _ in places] != [name.id for name in names]:
            raise MergeError(f"{source.label}: line {joined.lineno}: cannot read the f-string")
        for node, (name, begin, end) in zip(names, places, strict=True):
            if id(node) in wanted:
                edits.append((start + begin, start + end, renames[name]))
    return edits, covered


def _refuse_class_shadowing(source: Source, occurrences: Occurrences, renames: Mapping[str, str]) -> None:
    for node, scope in occurrences.classes:
        both = sorted(scope.local & scope.loaded & set(renames))
        if both:
            raise MergeError(
                f"{source.label}: line {node.lineno}: class {node.name} both binds {both[0]!r} and reads "
                "it, while the module binds it too"
            )


def apply_edits(data: bytes, edits: list[Edit]) -> str:
    for start, stop, new in sorted(edits, reverse=True):
        data = data[:start] + new.encode() + data[stop:]
    return data.decode()


def rename(text: str, renames: Mapping[str, str], label: str = "source", scan_fstrings: bool | None = None) -> str:
    """`text` with its module-level names mapped by `renames`; names that are not keys stay.

    `scan_fstrings` reads f-strings from their text; the default is where the interpreter gives no positions in them.
    Raises MergeError when a name cannot be renamed exactly.
    """
    source = Source(text, label)
    occurrences = Occurrences(source.tree)
    _refuse_class_shadowing(source, occurrences, renames)
    found = [(node, name) for node, name in occurrences.found if name in renames]
    edits: list[Edit] = []
    covered: set[int] = set()
    if scan_fstrings or (scan_fstrings is None and sys.version_info < (3, 12)):
        edits, covered = _fstring_edits(source, renames, {id(node) for node, _ in found})
    edits += [_edit_of(source, node, name, renames[name]) for node, name in found if id(node) not in covered]
    result = apply_edits(source.data, edits)
    if not same_program(text, result, renames):
        raise MergeError(f"{label}: its names cannot be renamed without changing what it does")
    return result
