"""Prove that a renamed source is the same program: equal bytecode once module-level names are mapped."""

from __future__ import annotations

import dis
import re
from collections.abc import Mapping
from types import CodeType
from typing import Any

_GLOBAL = {"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL"}
_NAME = {"LOAD_NAME", "STORE_NAME", "DELETE_NAME"}


class _Comparison:
    def __init__(self, renames: Mapping[str, str]) -> None:
        self.renames = renames
        words = "|".join(sorted(map(re.escape, renames), key=len, reverse=True)) or r"(?!)"
        self.words = re.compile(rf"(?<![A-Za-z0-9_.])(?:{words})(?![A-Za-z0-9_])")
        self.mangled = re.compile(rf"^_({words})(__\w*)$")

    def mapped(self, name: str) -> str:
        return self.renames.get(name, name)

    def strings(self, old: str, new: str) -> bool:
        """Annotations, qualified names and the text of `{name=}` may carry the new name, nothing else may."""
        return old == new or self.words.sub(lambda found: self.renames[found[0]], old) == new

    def attributes(self, old: str, new: str) -> bool:
        """Equal, or a private attribute mangled with a renamed class."""
        private = self.mangled.match(old)
        return old == new or (private is not None and f"_{self.renames[private[1]]}{private[2]}" == new)

    def constants(self, old: Any, new: Any) -> bool:
        if isinstance(old, CodeType):
            return isinstance(new, CodeType) and self.code(old, new, module=False)
        if isinstance(old, str):
            return isinstance(new, str) and self.strings(old, new)
        if isinstance(old, tuple):
            return isinstance(new, tuple) and len(old) == len(new) and all(map(self.constants, old, new))
        return type(old) is type(new) and (old == new or repr(old) == repr(new))

    def argument(self, old: dis.Instruction, new: dis.Instruction, module: bool) -> bool:
        if old.opname in _GLOBAL or (module and old.opname in _NAME):
            return self.mapped(old.argval) == new.argval
        if old.opname in _NAME or "FROM_DICT_OR_GLOBALS" in old.opname:  # in a class body: its own name or the module's
            return new.argval in (old.argval, self.mapped(old.argval))
        if old.opcode in dis.hasconst:
            return self.constants(old.argval, new.argval)
        if old.opcode in dis.hasname:
            return self.attributes(old.argval, new.argval)
        if old.opcode in dis.hasjrel or old.opcode in dis.hasjabs:
            return old.arg == new.arg
        return self.constants(old.argval, new.argval)

    def code(self, old: CodeType, new: CodeType, module: bool) -> bool:
        same = (self.mapped(old.co_name) == new.co_name or old.co_name == new.co_name) and all(
            map(self.attributes, old.co_varnames, new.co_varnames)
        )
        same = same and (old.co_cellvars, old.co_freevars, old.co_flags) == (
            new.co_cellvars,
            new.co_freevars,
            new.co_flags,
        )
        olds, news = list(dis.get_instructions(old)), list(dis.get_instructions(new))
        return (
            same
            and len(olds) == len(news)
            and all(a.opname == b.opname and self.argument(a, b, module) for a, b in zip(olds, news, strict=True))
        )


def same_program(old: str, new: str, renames: Mapping[str, str]) -> bool:
    """Whether `new` is `old` with its module-level names mapped by `renames`, judged by what they compile to."""
    first = compile(old, "kernel.py", "exec", dont_inherit=True)
    second = compile(new, "kernel.py", "exec", dont_inherit=True)
    return _Comparison(renames).code(first, second, module=True)
