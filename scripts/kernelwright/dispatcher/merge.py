"""Merge kernel sources into one module: every kernel keeps its text, its module-level names get a suffix."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.dispatcher.rename import MergeError, Source, apply_edits, rename
from kernelwright.dispatcher.scopes import IMPORTS, Scope, bound_alias, fill, module_names

# What reaches module-level names through strings or through the module object, where no rename can follow.
REFLECTION = {"globals": "globals()", "exec": "exec()", "eval": "eval()", "__import__": "__import__()"}
REGISTRATIONS = {"custom_op", "triton_op", "Library", "define", "register_fake"}


@dataclass(frozen=True)
class Kernel:
    """One source to merge. `label` is the suffix of its names."""

    label: str
    text: str


@dataclass(frozen=True)
class Merged:
    """`futures` and `imports` go on top, `bodies` are the renamed sources without them, in the order given."""

    futures: tuple[str, ...]
    imports: tuple[str, ...]
    bodies: tuple[str, ...]
    names: tuple[dict[str, str], ...]  # per kernel: original module-level name -> name in the merged file


def _refuse_reflection(source: Source) -> None:
    own = module_names(source.tree)
    for node in ast.walk(source.tree):
        line = f"{source.label}: line {getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            raise MergeError(f"{line}: `from {node.module} import *` binds names that cannot be known")
        if isinstance(node, ast.Name) and node.id in REFLECTION and node.id not in own:
            raise MergeError(f"{line}: {REFLECTION[node.id]} can reach names that are renamed")
        if isinstance(node, ast.Attribute) and node.attr == "modules" and ast.unparse(node.value) == "sys":
            raise MergeError(f"{line}: sys.modules can reach names that are renamed")
        if getattr(node, "type_params", None):
            raise MergeError(f"{line}: type parameters are not supported")
    for name in sorted(own):
        if name.startswith("__") and (not name.endswith("__") or name in ("__getattr__", "__dir__")):
            raise MergeError(f"{source.label}: the module-level name {name!r} cannot be renamed")


def _refuse_shared_registrations(sources: Sequence[Source]) -> None:
    """Operators registered with torch.library have process-wide names; two kernels cannot both own one."""
    owners: dict[str, str] = {}
    for source in sources:
        for node in ast.walk(source.tree):
            if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
                continue
            called = ast.unparse(node.func)
            key = f"{called}({node.args[0].value!r})"
            registers = called.startswith("torch.library") and called.rpartition(".")[2] in REGISTRATIONS
            if registers and owners.setdefault(key, source.label) != source.label:
                raise MergeError(f"{source.label} and {owners[key]} both register {key}")


def _target(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """What the bound name stands for, so that equal imports of two kernels are recognised."""
    if isinstance(node, ast.ImportFrom):
        return f"{'.' * node.level}{node.module or ''}:{alias.name}"
    return alias.name if alias.asname else alias.name.partition(".")[0]


def _import_targets(source: Source) -> dict[str, set[str]]:
    """Names bound at module level by imports alone -> what they stand for."""
    bound: Counter[str] = Counter()
    targets: dict[str, set[str]] = {}
    for statement in _import_statements(source.tree.body):
        for alias in statement.names:
            bound[bound_alias(alias)] += 1
            targets.setdefault(bound_alias(alias), set()).add(_target(statement, alias))
    others = fill(Scope("module"), [_WithoutImports().visit(ast.parse(source.data))]).local
    declared = {name for node in ast.walk(source.tree) if isinstance(node, ast.Global) for name in node.names}
    return {name: found for name, found in targets.items() if name not in others | declared}


def _import_statements(body: Iterable[ast.AST]) -> Iterable[ast.Import | ast.ImportFrom]:
    for node in body:
        if isinstance(node, IMPORTS):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _import_statements(ast.iter_child_nodes(node))


class _WithoutImports(ast.NodeTransformer):
    def visit_Import(self, node: ast.Import) -> ast.Pass:
        return ast.Pass()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.Pass:
        return ast.Pass()


def _shared_names(sources: Sequence[Source], reserved: Iterable[str]) -> set[str]:
    """Import names that mean the same in every kernel which binds them and may therefore stay as they are."""
    meaning: dict[str, set[str]] = {}
    imported = [_import_targets(source) for source in sources]
    for targets in imported:
        for name, found in targets.items():
            meaning.setdefault(name, set()).update(found)
    return {name for name, found in meaning.items() if len(found) == 1} - set(reserved)


def _is_future(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_main_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) == "__name__ == '__main__'"


def _whole_lines(source: Source, node: ast.AST) -> tuple[int, int] | None:
    """Byte span of the lines of a statement with its trailing comment; None when it shares a line with another."""
    start, stop = source.span(node)
    end = source.data.find(b"\n", stop)
    end = len(source.data) if end < 0 else end + 1
    head = source.data[source.data.rfind(b"\n", 0, start) + 1 : start].strip()
    tail = source.data[stop:end].strip()
    return None if head or (tail and not tail.startswith(b"#")) else (start, end)


def _lift(source: Source, shared: set[str]) -> tuple[list[str], list[str], str]:
    """Futures, leading imports whose names are all shared, and the text that is left of a source already renamed."""
    futures: list[str] = []
    imports: list[str] = []
    cuts = []
    leading = True
    for node in source.tree.body:
        span = _whole_lines(source, node)
        if _is_future(node):
            if span is None:
                raise MergeError(f"{source.label}: line {node.lineno}: `from __future__` shares its line")
            futures += [alias.name for alias in node.names]  # type: ignore[attr-defined]
            cuts.append(span)
        elif isinstance(node, IMPORTS) and leading and span and {bound_alias(alias) for alias in node.names} <= shared:
            imports.append(ast.unparse(node))
            cuts.append(span)
        elif _is_main_guard(node) and span:
            cuts.append(span)
        elif not isinstance(node, IMPORTS) and not _is_docstring(node):
            leading = False
    return futures, imports, apply_edits(source.data, [(start, stop, "") for start, stop in cuts]).strip("\n")


def _fresh(name: str, label: str, taken: set[str]) -> str:
    new = f"{name}_{label}"
    while new in taken:
        new += "_"
    taken.add(new)
    return new


def _all_identifiers(sources: Sequence[Source]) -> set[str]:
    found: set[str] = set()
    for source in sources:
        for node in ast.walk(source.tree):
            found.update(
                value
                for key in ("id", "name", "arg", "attr", "asname")
                if isinstance(value := getattr(node, key, None), str)
            )
    return found


def import_order(statement: str) -> tuple[bool, str]:
    return statement.startswith("from "), statement


def merge(kernels: Sequence[Kernel], reserved: Iterable[str] = (), own: Sequence[str] = ()) -> Merged:
    """Merge `kernels` into one module's parts.

    `reserved` are names that the caller binds in the merged file, `own` the import statements it adds.

    Raises MergeError (one line, naming the kernel and the line) for what cannot be merged without a change of meaning.
    """
    sources = [Source(kernel.text, kernel.label) for kernel in kernels]
    for source in sources:
        _refuse_reflection(source)
    _refuse_shared_registrations(sources)
    shared = _shared_names([*sources, Source("\n".join(own), "dispatcher")], reserved)
    taken = _all_identifiers(sources) | set(reserved)
    futures: set[str] = set()
    imports: set[str] = set()
    bodies: list[str] = []
    names: list[dict[str, str]] = []
    for kernel, source in zip(kernels, sources, strict=True):
        future_names = {alias.name for node in source.tree.body if _is_future(node) for alias in node.names}  # type: ignore[attr-defined]
        own_imports = shared & set(_import_targets(source))
        bound = sorted(module_names(source.tree) - own_imports - future_names)
        mapping = {name: _fresh(name, kernel.label, taken) for name in bound}
        renamed = Source(rename(kernel.text, mapping, kernel.label), kernel.label)
        own_futures, lifted, body = _lift(renamed, own_imports)
        futures.update(own_futures)
        imports.update(lifted)
        bodies.append(body)
        names.append(mapping)
    return Merged(tuple(sorted(futures)), tuple(sorted(imports, key=import_order)), tuple(bodies), tuple(names))
