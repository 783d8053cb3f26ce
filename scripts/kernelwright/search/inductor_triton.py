"""From a module that TorchInductor generated for a GPU to a self-contained Triton kernel file.

Its kernels are kept, their heuristics and launchers replaced: block sizes follow from the sizes of a call. Pure: reads
text, runs nothing. What it does not know it refuses, naming it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from kernelwright.errors import KernelwrightError
from kernelwright.search import inductor_emit
from kernelwright.search.inductor_emit import Lowering, Rewrite
from kernelwright.search.templates import base

HELPERS = (
    "maximum",
    "minimum",
    "max2",
    "min2",
    "any",
    "promote_to_tensor",
    "online_softmax_combine",
    "online_softmax_reduce",
)  # of Inductor that a file brings itself
INTEGERS = {"i32": "tl.int32", "i64": "tl.int64"}
BLOCKS = {"x": "XBLOCK", "r0_": "R0_BLOCK"}


@dataclass(frozen=True)
class Kernel:
    """One generated Triton function: its text without decorators, and what its launch needs."""

    name: str
    text: str
    parameters: list[str]  # without the block sizes, in the order of a call
    blocks: list[str]  # constexpr parameters: XBLOCK, R0_BLOCK
    fixed: int  # R0_BLOCK where the function itself sets it, else 0
    outer: bool  # a reduction over rows, whose neighbours in memory are neighbours in x
    narrow: bool  # it counts elements in 32 bits
    helpers: list[str]


def kernels(tree: ast.Module) -> list[Kernel]:
    """The module's Triton kernels in order."""
    return [_kernel(name, ast.literal_eval(arguments[1])) for name, arguments in inductor_emit.built(tree, ("triton",))]


def _kernel(name: str, source: str) -> Kernel:
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1:
        raise KernelwrightError(f"Inductor's kernel {name} has {len(functions)} functions, expected one")
    function = functions[0]
    heuristics = " ".join(ast.unparse(decorator) for decorator in function.decorator_list)
    grid = re.search(r"'grid_type': '(\w+)'", heuristics)
    if grid is None or grid.group(1) != "Grid1D":
        raise KernelwrightError(
            f"Inductor's kernel {name} is launched on {grid.group(1) if grid else 'an unknown grid'}"
        )
    types = dict(re.findall(r"'(\w+)': '(\*?\w+)'", heuristics[heuristics.find("'signature'") :].partition("}")[0]))
    names = [argument.arg for argument in function.args.args]
    blocks = [given for given in names if given.endswith("BLOCK")]
    if not blocks or set(blocks) - set(BLOCKS.values()):
        raise KernelwrightError(f"Inductor's kernel {name} has block sizes {', '.join(blocks) or 'unknown'}")
    for argument in function.args.args:
        if types.get(argument.arg) in INTEGERS:
            argument.annotation = ast.parse(INTEGERS[types[argument.arg]], mode="eval").body
    function.name, function.decorator_list = name, []
    text = ast.unparse(ast.fix_missing_locations(function))
    helpers = sorted(set(re.findall(r"triton_helpers\.(\w+)", text)))
    unknown = [helper for helper in helpers if helper not in HELPERS]
    if unknown:
        raise KernelwrightError(f"Inductor's lowering needs triton_helpers.{unknown[0]} of its runtime")
    fixed = re.search(r"R0_BLOCK: tl\.constexpr = (\d+)", text)
    return Kernel(
        name=name,
        text=text.replace("triton_helpers.", "_").replace("tl_math.", "tl.math."),
        parameters=[given for given in names if given not in blocks],
        blocks=blocks,
        fixed=int(fixed.group(1)) if fixed else 0,
        outer="ReductionHint.OUTER" in heuristics,
        narrow="i32" in types.values(),
        helpers=helpers,
    )


class TritonRewrite(Rewrite):
    """`kernel.run(..., stream=...)` becomes a call of the file's own launcher."""

    allocator = "empty_strided_cuda"

    def __init__(self, known: dict[str, Kernel], scalars: frozenset[str], device: str, allow_library: bool) -> None:
        super().__init__(allow_library)
        self.known = known
        self.scalars = scalars
        self.device = device

    def own_call(self, node: ast.Call, name: str) -> ast.AST | None:
        owner, _, method = name.rpartition(".")
        if method == "item" and owner in self.scalars:
            return ast.parse(owner, mode="eval").body
        if method != "run" or owner not in self.known:
            return None
        kernel = self.known[owner]
        if len(node.args) != len(kernel.parameters):
            raise KernelwrightError(
                f"Inductor calls {owner} with {len(node.args)} arguments, it has {len(kernel.parameters)}"
            )
        given = ", ".join(ast.unparse(argument) for argument in node.args)
        return ast.parse(f"_launch_{owner}({given})", mode="eval").body


def kernel_text(operator: str, entry: str, lowering: Lowering, allow_library: bool) -> str:
    """The kernel file. Raises KernelwrightError naming what the lowering needs that a kernel file cannot have."""
    tree = ast.parse(lowering.code)
    found = kernels(tree)
    if not found:
        raise KernelwrightError("Inductor's lowering has no kernel of its own, only library calls")
    names = _argument_names(tree, lowering)
    scalars = frozenset(name for name, argument in zip(names, lowering.arguments, strict=True) if argument["as_tensor"])
    tensors = [argument for argument in lowering.arguments if argument["dtype"] and not argument["as_tensor"]]
    if not tensors:
        raise KernelwrightError("Inductor's lowering takes no tensor")
    device = f"{inductor_emit.expression(tensors[0]['source'])}.device"
    rewrite = TritonRewrite({kernel.name: kernel for kernel in found}, scalars, device, allow_library)
    lines = inductor_emit.body_lines(tree, lowering, rewrite)
    inductor_emit.check_names(lines, lowering, {"_with_strides", *(f"_launch_{kernel.name}" for kernel in found)})
    values = [
        f"self._scalar_{index} = {inductor_emit.expression(argument['source'])}"
        for index, argument in enumerate(lowering.arguments)
        if argument["as_tensor"]
    ]
    return base.render(
        "triton/inductor.py.j2", operator=operator, entry=entry, lines=lines, lowering=lowering, scalars=values,
        kernels=found, helpers=sorted({helper for kernel in found for helper in kernel.helpers}),
    )  # fmt: skip


def _argument_names(tree: ast.Module, lowering: Lowering) -> list[str]:
    """Names that the generated call unpacks its arguments into."""
    packed, statements = inductor_emit.call_body(tree)
    for statement in statements:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.value) == packed:
            target: Any = statement.targets[0]
            names = [ast.unparse(element) for element in (target.elts if hasattr(target, "elts") else [target])]
            if len(names) == len(lowering.arguments):
                return names
    raise KernelwrightError(f"Inductor's call does not take the graph's {len(lowering.arguments)} arguments")
