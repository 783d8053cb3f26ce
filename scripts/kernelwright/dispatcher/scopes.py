"""Which names in a module's source mean module-level names: Python's scope rules over the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass
class Scope:
    """One block: `local` names are bound in it, `declared` are its `global` statements."""

    kind: str  # module, class or function
    parent: Scope | None = None
    local: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)

    def is_global(self, name: str) -> bool:
        """Whether `name`, used in this block, means the module's."""
        if self.kind == "module" or name in self.declared:
            return True
        if name in self.local:
            return False
        outer = self.parent
        while outer is not None and outer.kind == "class":  # methods do not see the names of their class
            outer = outer.parent
        return outer is None or outer.is_global(name)


def bound_alias(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Every parameter in order, starred ones included."""
    found = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return [argument for argument in found if argument is not None]


def _same_block(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes that belong to a block, without the insides of functions, classes and comprehensions in it."""
    for node in nodes:
        yield node
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(node, COMPREHENSIONS):  # only `:=` inside binds in the enclosing block
            walrus = (inner for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
            yield from (inner.target for inner in walrus)
            continue
        yield from _same_block(ast.iter_child_nodes(node))


def fill(scope: Scope, body: Iterable[ast.AST]) -> Scope:
    """Record the bindings of a block's statements in `scope`."""
    nonlocals: set[str] = set()
    for node in _same_block(body):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                scope.local.add(name)
            case ast.Name(id=name):
                scope.loaded.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                scope.local.add(name)
            case ast.Import() | ast.ImportFrom():
                scope.local.update(bound_alias(alias) for alias in node.names)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                scope.local.add(name)
            case ast.MatchMapping(rest=str(name)):
                scope.local.add(name)
            case ast.Global():
                scope.declared.update(node.names)
            case ast.Nonlocal():
                nonlocals.update(node.names)
    scope.local -= nonlocals | (scope.declared if scope.kind != "module" else set())
    return scope


class Occurrences(ast.NodeVisitor):
    """Collects in `found` each node and name by which the source mentions a module-level name."""

    def __init__(self, tree: ast.Module) -> None:
        self.scope = fill(Scope("module"), tree.body)
        self.found: list[tuple[ast.AST, str]] = []
        self.classes: list[tuple[ast.ClassDef, Scope]] = []
        for statement in tree.body:
            self.visit(statement)

    def _mention(self, node: ast.AST, name: str) -> None:
        if self.scope.is_global(name):
            self.found.append((node, name))

    def _inside(self, scope: Scope, nodes: Iterable[ast.AST]) -> None:
        outer, self.scope = self.scope, scope
        for node in nodes:
            self.visit(node)
        self.scope = outer

    def visit_Name(self, node: ast.Name) -> None:
        self._mention(node, node.id)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._mention(node, node.name)
        annotations = [argument.annotation for argument in parameters(node.args)]
        defaults = [*node.args.defaults, *node.args.kw_defaults]
        for outside in [*node.decorator_list, *defaults, *annotations, node.returns]:
            if outside is not None:
                self.visit(outside)
        scope = Scope("function", self.scope, {argument.arg for argument in parameters(node.args)})
        self._inside(fill(scope, node.body), node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        scope = Scope("function", self.scope, {argument.arg for argument in parameters(node.args)})
        self._inside(fill(scope, [node.body]), [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._mention(node, node.name)
        for outside in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(outside)
        scope = fill(Scope("class", self.scope), node.body)
        self.classes.append((node, scope))
        self._inside(scope, node.body)

    def _comprehension(self, node: ast.AST) -> None:
        generators = node.generators  # type: ignore[attr-defined]
        self.visit(generators[0].iter)  # evaluated outside
        scope = Scope("function", self.scope)
        for generator in generators:
            fill(scope, [generator.target])
        results = [getattr(node, name) for name in ("key", "value", "elt") if hasattr(node, name)]
        rest = [part for generator in generators for part in (generator.target, *generator.ifs)]
        self._inside(scope, [*rest, *(generator.iter for generator in generators[1:]), *results])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self._mention(alias, bound_alias(alias))

    visit_ImportFrom = visit_Import

    def visit_Global(self, node: ast.Global) -> None:
        self.found.extend((node, name) for name in node.names)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name is not None:
            self._mention(node, node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name is not None:
            self._mention(node, node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs


def module_names(tree: ast.Module) -> set[str]:
    """Names that the module binds at its top level or through `global`."""
    names = set(fill(Scope("module"), tree.body).local)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            names.update(node.names)
    return names
