"""Where names stand inside an f-string's text; Python before 3.12 gives no usable positions there."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

Place = tuple[str, int, int]  # name, byte offset from, to

_CLOSER = {"(": ")", "[": "]", "{": "}"}


def names_in_order(node: ast.AST) -> Iterator[ast.Name]:
    """Names below `node`, depth first in the order of the text."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name):
            yield child
        else:
            yield from names_in_order(child)


def _end_of_expression(text: str, start: int) -> int:
    """Index of the `!`, `:` or `}` that ends the replacement field's expression which begins at `start`."""
    closers: list[str] = []
    at = start
    while at < len(text):
        char = text[at]
        if char in "'\"":
            quote = char * 3 if text.startswith(char * 3, at) else char
            at = text.index(quote, at + len(quote)) + len(quote)
            continue
        if closers and char == closers[-1]:
            closers.pop()
        elif char in _CLOSER:
            closers.append(_CLOSER[char])
        elif not closers and (char in ":}" or (char == "!" and text[at + 1 : at + 2] != "=")):
            return at
        at += 1
    raise ValueError("an open replacement field")


def _fields(body: str, at: int, raw: bool, nested: bool) -> tuple[list[tuple[int, int]], int]:
    """(from, to) of each expression in an f-string's body or, when `nested`, in a format up to its `}`."""
    found: list[tuple[int, int]] = []
    while at < len(body):
        if not raw and body.startswith("\\N{", at):
            at = body.index("}", at) + 1
        elif (body[at] == "\\" and not raw) or (not nested and body[at : at + 2] in ("{{", "}}")):
            at += 2
        elif body[at] == "{":
            stop = _end_of_expression(body, at + 1)
            found.append((at + 1, stop))
            if body[stop] == "!":
                stop = min(index for index in (body.find(":", stop), body.find("}", stop)) if index >= 0)
            if body[stop] == ":":
                inner, stop = _fields(body, stop + 1, raw, nested=True)
                found += inner
            at = stop + 1
        elif nested and body[at] == "}":
            return found, at
        else:
            at += 1
    return found, at


def _names_of_expression(text: str) -> list[Place]:
    """Names of one expression, with byte offsets into it."""
    code = re.sub(r"(?<![=!<>])=\s*$", "", text)  # {value=}
    lines = ("(" + code + ")").encode().splitlines(keepends=True)
    tree = ast.parse("(" + code + ")", mode="eval")

    def walk(node: ast.AST) -> Iterator[Place]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name | ast.JoinedStr):
                start = sum(map(len, lines[: child.lineno - 1])) + child.col_offset - 1
                stop = sum(map(len, lines[: (child.end_lineno or 1) - 1])) + (child.end_col_offset or 0) - 1
                if isinstance(child, ast.Name):
                    yield (child.id, start, stop)
                else:
                    for name, begin, end in _places(code.encode()[start:stop].decode()):
                        yield (name, start + begin, start + end)
            else:
                yield from walk(child)

    return list(walk(tree))


def _string_tokens(text: str) -> Iterator[tuple[str, int]]:
    """String tokens of an implicitly concatenated literal, with their character offsets."""
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            yield token.string, sum(map(len, lines[: token.start[0] - 1])) + token.start[1]


def _places(text: str) -> list[Place]:
    found: list[Place] = []
    # Parentheses let the literal go on over lines; the tokenizer of 3.12 splits f-strings, so only 3.11 comes here.
    for token, offset in _string_tokens(f"({text})"):
        prefix = re.match(r"[A-Za-z]*", token)[0].lower()  # type: ignore[index]
        if "f" not in prefix:
            continue
        width = 3 if token[len(prefix) :].startswith(('"""', "'''")) else 1
        begin = len(prefix) + width
        body = token[begin:-width]
        for start, stop in _fields(body, 0, "r" in prefix, nested=False)[0]:
            base = len(f"({text})"[: offset + begin + start].encode()) - 1
            found += [(name, base + a, base + b) for name, a, b in _names_of_expression(body[start:stop])]
    return found


def places(text: str) -> list[Place] | None:
    """(name, byte from, byte to) of each name in the f-string literal `text`, in order; None when it cannot be read."""
    try:
        return _places(text)
    except (ValueError, SyntaxError, tokenize.TokenError):
        return None
