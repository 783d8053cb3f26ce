"""From a module that TorchInductor generated to a self-contained kernel file: its C++ kept, its runtime replaced.

Pure: reads text, runs nothing. What it does not know it refuses, naming it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from kernelwright.errors import KernelwrightError
from kernelwright.search.templates import base

# Inductor's own flags for C++ kernels: no contraction, so that results are its own; NaN and infinity are kept.
FLAGS = (
    "-O3", "-march=native", "-std=c++20", "-fopenmp", "-DNDEBUG", "-fno-trapping-math", "-ffp-contract=off",
    "-fno-tree-loop-vectorize",
)  # fmt: skip
CTYPES = {
    "int64_t": "ctypes.c_int64",
    "int32_t": "ctypes.c_int32",
    "double": "ctypes.c_double",
    "float": "ctypes.c_float",
}
LOCALS = {"torch", "math", "max", "min", "len", "int", "float", "bool", "True", "False", "None"}
BUILDERS = ("cpp_pybinding", "cpp")
DEVICE_CALLS = ("torch.cuda.set_device(", "stream")  # of Inductor's device guard


@dataclass(frozen=True)
class Lowering:
    """What search/inductor.py saw: Inductor's module and how its arguments and results belong to the reference."""

    code: str
    arguments: list[dict[str, Any]]  # in call order: {source, as_tensor, dtype}
    outputs: dict[str, Any]  # {count, single, values: [{result: i} or {input: name}]}
    macros: list[str]
    capability: str
    mutates: list[str]
    imports: list[str]
    constants: list[str]
    init_parameters: str
    init_body: list[str]
    forward_parameters: str


@dataclass(frozen=True)
class Kernel:
    """One generated C++ function."""

    name: str
    types: list[str]
    source: str


def built(tree: ast.Module, builders: Collection[str]) -> Iterator[tuple[str, list[ast.expr]]]:
    """(name, arguments of its build) of each kernel in order. Raises KernelwrightError for another builder's."""
    for node in tree.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        called = node.value.func
        if not (isinstance(called, ast.Attribute) and ast.unparse(called.value) == "async_compile"):
            continue
        if called.attr not in builders:
            raise KernelwrightError(f"Inductor's lowering has a kernel built by async_compile.{called.attr}")
        yield ast.unparse(node.targets[0]), node.value.args


def kernels(tree: ast.Module) -> list[Kernel]:
    """The module's C++ kernels in order; their functions get their Python names."""
    found = []
    for name, arguments in built(tree, BUILDERS):
        types, source = (ast.literal_eval(argument) for argument in arguments[:2])
        renamed, count = re.subn(r'(extern "C"\s+void\s+)kernel\(', rf"\1{name}(", source)
        if count != 1:
            raise KernelwrightError(f"Inductor's kernel {name} exports {count} functions, expected one")
        found.append(Kernel(name, list(types), renamed))
    return found


def call_body(tree: ast.Module) -> tuple[str, list[ast.stmt]]:
    """(name of the argument list, statements) of the generated `call`."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "call"]
    if len(functions) != 1:
        raise KernelwrightError(f"Inductor's module has {len(functions)} call functions, expected one")
    return functions[0].args.args[-1].arg, functions[0].body


class Rewrite(ast.NodeTransformer):
    """Inductor's runtime helpers to public torch calls. A framework's own says how its kernels are called."""

    allocator = "empty_strided_cpu"
    device: str | None = None  # expression of the device where buffers are made; None: torch's default
    scalars: frozenset[str] = frozenset()  # graph inputs that are plain numbers here

    def __init__(self, allow_library: bool) -> None:
        self.allow_library = allow_library

    def own_call(self, node: ast.Call, name: str) -> ast.AST | None:
        """What replaces a call of one of the module's kernels; None for any other call."""
        raise NotImplementedError

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name == self.allocator:
            node.func = ast.parse("torch.empty_strided", mode="eval").body
            node.keywords = [ast.keyword("dtype", node.args.pop(2))]
            if self.device:
                node.keywords.append(ast.keyword("device", ast.parse(self.device, mode="eval").body))
            return node
        if name == "reinterpret_tensor":
            tensor, size, stride, offset = (ast.unparse(argument) for argument in node.args)
            text = f"{tensor}.as_strided({size}, {stride}, {tensor}.storage_offset() + {offset})"
            return ast.parse(text, mode="eval").body
        own = self.own_call(node, name)
        if own is not None:
            return own
        if name.startswith(("extern_kernels.", "aten.", "torch.ops.")):
            return self._library_call(node, name)
        return node

    def _library_call(self, node: ast.Call, name: str) -> ast.AST:
        if not self.allow_library:
            raise KernelwrightError(
                f"Inductor's lowering calls the library operator {name}, which production mode forbids"
            )
        public = name.replace("extern_kernels.", "torch.", 1) if name.startswith("extern_kernels.") else name
        node.func = ast.parse(
            public.replace("aten.", "torch.ops.aten.", 1) if public.startswith("aten.") else public, mode="eval"
        ).body
        return node


class CppRewrite(Rewrite):
    """Kernels are functions of a library, called through ctypes."""

    def __init__(self, known: dict[str, Kernel], allow_library: bool) -> None:
        super().__init__(allow_library)
        self.known = known

    def own_call(self, node: ast.Call, name: str) -> ast.AST | None:
        kernel = self.known.get(name)
        if kernel is None:
            return None
        if len(node.args) != len(kernel.types) or node.keywords:
            raise KernelwrightError(
                f"Inductor calls {kernel.name} with {len(node.args)} arguments, it has {len(kernel.types)}"
            )
        given = [
            f"{ast.unparse(value)}.data_ptr()" if declared.endswith("*") else ast.unparse(value)
            for value, declared in zip(node.args, kernel.types, strict=True)
        ]
        return ast.parse(f"_LIBRARY.{kernel.name}({', '.join(given)})", mode="eval").body


def body_lines(tree: ast.Module, lowering: Lowering, rewrite: Rewrite) -> list[str]:
    """Statements of forward: graph inputs from the arguments, Inductor's calls, then the reference's return value."""
    packed, statements = call_body(tree)
    lines: list[str] = []
    for statement in _flat(statements):
        text = ast.unparse(statement)
        if isinstance(statement, ast.Assign) and ast.unparse(statement.value) == packed:
            names = [ast.unparse(target) for target in _elements(statement.targets[0])]
            lines += _inputs(names, lowering)
        elif text.startswith("assert_size_stride("):
            lines += _stride_check(statement, lowering.mutates, rewrite.scalars)
        elif text == f"{packed}.clear()" or text.startswith(("assert_alignment(", "del arg", *DEVICE_CALLS)):
            continue
        elif isinstance(statement, ast.Return):
            lines += _return(rewrite.visit(statement), lowering)
        else:
            lines += ast.unparse(ast.fix_missing_locations(rewrite.visit(statement))).splitlines()
    return lines


def _flat(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Statements with those of a device guard in its place: a kernel runs where its inputs are."""
    found: list[ast.stmt] = []
    for statement in statements:
        guard = isinstance(statement, ast.With) and "_DeviceGuard" in ast.unparse(statement.items[0])
        found += _flat(statement.body) if guard and isinstance(statement, ast.With) else [statement]
    return found


def _elements(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]


def _inputs(names: list[str], lowering: Lowering) -> list[str]:
    if len(names) != len(lowering.arguments):
        raise KernelwrightError(
            f"Inductor's call takes {len(names)} arguments, the graph has {len(lowering.arguments)}"
        )
    lines = []
    for index, (name, argument) in enumerate(zip(names, lowering.arguments, strict=True)):
        lines.append(f"{name} = {f'self._scalar_{index}' if argument['as_tensor'] else expression(argument['source'])}")
    return lines


def expression(source: str) -> str:
    """Dynamo's source `L['x'].size()[0]` as Python of forward; refuses globals and closures."""
    text = re.sub(r"L\['(\w+)'\]", r"\1", source)
    if re.search(r"\bG\[|___|\$", text):
        raise KernelwrightError(f"the reference's graph reads {source}, which a kernel file cannot")
    return text


def _stride_check(statement: ast.stmt, mutates: list[str], scalars: frozenset[str]) -> list[str]:
    """assert_size_stride(arg, size, stride, ...): a tensor with other strides is copied, unless it will be written."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        raise KernelwrightError("Inductor's stride check has an unknown form")
    name, size, stride = (ast.unparse(argument) for argument in statement.value.args[:3])
    if not name.startswith("arg") or name in scalars:
        return []
    return [f"{name} = _with_strides({name}, {size}, {stride}, {bool(mutates)})"]


def _return(statement: ast.Return, lowering: Lowering) -> list[str]:
    results = [ast.unparse(value) for value in _elements(statement.value)] if statement.value else []
    wanted = lowering.outputs
    if len(results) != wanted["count"]:
        raise KernelwrightError(f"Inductor's call returns {len(results)} values, the graph has {wanted['count']}")
    texts = [results[value["result"]] if "result" in value else value["input"] for value in wanted["values"]]
    return [f"return {texts[0] if wanted['single'] else '(' + ', '.join(texts) + ',)'}"]


def check_names(lines: list[str], lowering: Lowering, helpers: set[str]) -> None:
    """Every name that forward reads must be assigned in it, be a parameter, one of LOCALS or one of `helpers`."""
    parameters = ast.parse(f"def forward({lowering.forward_parameters}): pass").body[0]
    assert isinstance(parameters, ast.FunctionDef)
    known = LOCALS | {argument.arg for argument in parameters.args.args} | helpers
    tree = ast.parse(
        "\n".join(line.replace("return ", "_ = ", 1) if line.startswith("return ") else line for line in lines)
    )
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    known |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    unknown = sorted({node.id for node in names} - known)
    if unknown:
        raise KernelwrightError(f"Inductor's lowering needs {', '.join(unknown)} of its runtime")


def ctype(declared: str) -> str:
    if declared.endswith("*"):
        return "ctypes.c_void_p"
    plain = declared.removeprefix("const ").strip()
    if plain not in CTYPES:
        raise KernelwrightError(f"Inductor's kernel has an argument of type {declared}")
    return CTYPES[plain]


def kernel_text(operator: str, entry: str, lowering: Lowering, allow_library: bool) -> str:
    """The kernel file. Raises KernelwrightError naming what the lowering needs that a kernel file cannot have."""
    tree = ast.parse(lowering.code)
    found = kernels(tree)
    if not found:
        raise KernelwrightError("Inductor's lowering has no kernel of its own, only library calls")
    lines = body_lines(tree, lowering, CppRewrite({kernel.name: kernel for kernel in found}, allow_library))
    check_names(lines, lowering, {"_LIBRARY", "_with_strides"})
    scalars = [
        f"self._scalar_{index} = torch.tensor({expression(argument['source'])}, dtype=torch.{argument['dtype']})"
        for index, argument in enumerate(lowering.arguments)
        if argument["as_tensor"]
    ]
    flags = [*FLAGS, *(f"-D{macro}" for macro in lowering.macros)]
    return base.render(
        "inductor.py.j2", operator=operator, entry=entry, flags=flags, lines=lines, lowering=lowering, scalars=scalars,
        kernels=[(kernel.name, [ctype(declared) for declared in kernel.types]) for kernel in found],
        source="\n".join(kernel.source.strip() for kernel in found),
    )  # fmt: skip
