"""TorchInductor as a source of kernels: its lowering of the reference as a self-contained kernel file.

The reference is traced once with every size symbolic and without assuming that equal sizes stay equal, so that one
lowering serves all shapes. The generated kernels are kept; the runtime around them is replaced: C++ for CPUs in
search/inductor_emit.py, Triton for GPUs in search/inductor_triton.py.
Runs operator code and the compiler, so a step starts it as a child: `python -m kernelwright.search.inductor`.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli
from kernelwright.errors import KernelwrightError
from kernelwright.search import inductor_emit, inductor_triton
from kernelwright.search.inductor_emit import Lowering

TIMEOUT_S = 900.0
LOWERED = "_Lowered"  # class of a lowering whose operator wants a function
DEVICES = {"cpp": "cpu", "triton": "cuda"}  # framework -> where the reference is traced
MOST_GRAPHS_CHECKED = 8


def lower(operator: Any, workloads: Sequence[str], framework: str, mode: str) -> str:
    """Text of a kernel file. Raises KernelwrightError that says why there is none."""
    if framework not in DEVICES:
        known = " and ".join(sorted(DEVICES))
        raise KernelwrightError(f"Inductor lowerings are supported for frameworks {known}, not for {framework}")
    with tempfile.TemporaryDirectory(prefix="kernelwright-inductor-") as folder:
        output = Path(folder) / "lowering.json"
        command = [sys.executable, "-m", "kernelwright.search.inductor", "--operator-dir", str(operator.source)]
        command += ["--workloads", *workloads, "--device", DEVICES[framework], "--output", str(output)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=_environment(folder)
            )
        except subprocess.TimeoutExpired:
            raise KernelwrightError(f"Inductor took longer than {TIMEOUT_S:.0f} s") from None
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
            raise KernelwrightError(lines[-1].removeprefix("kernelwright: "))
        lowering = Lowering(**artifacts.read_json(output))
    emit = inductor_triton.kernel_text if framework == "triton" else inductor_emit.kernel_text
    function = operator.layout == "sol_execbench"
    text = emit(operator.name, LOWERED if function else operator.candidate_name, lowering, mode == "leaderboard")
    return as_function(text, operator) if function else text


def _environment(folder: str) -> dict[str, str]:
    import os

    from kernelwright.paths import search_path

    return {**os.environ, "PATH": search_path(), "TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "inductor")}


def trace(operator: Any, workload_ids: Sequence[str], device: str) -> Lowering:
    """Compile the reference on its most general workload. Raises KernelwrightError when that is not one sound graph."""
    import torch

    from kernelwright.operators.runtime import Runtime

    runtime = Runtime(operator)
    workload = operator.workload(most_general(operator, workload_ids))
    _assume_nothing(torch)
    _same_graph_everywhere(operator, runtime, workload, device)
    return _compiled(runtime, workload, device)


def most_general(operator: Any, workload_ids: Sequence[str]) -> str:
    """The workload with the fewest sizes of 0 or 1, which a trace cannot treat as symbols; of those the smallest."""

    def rank(key: str) -> tuple[int, int, str]:
        axes = operator.axis_values(operator.workload(key))
        return sum(size <= 1 for size in axes.values()), sum(axes.values()), key

    return min(workload_ids, key=rank)


def _assume_nothing(torch: Any) -> None:
    """Sizes that are equal by chance must stay different symbols."""
    import torch.fx.experimental._config as symbolic

    symbolic.use_duck_shape = False
    torch._dynamo.reset()


def _graph_of(runtime: Any, workload: Any, device: str) -> str:
    """Text of the traced graph: equal texts mean that constructor arguments did not change the computation."""
    import torch

    texts: list[str] = []

    def keep(graph: Any, _: Any) -> Any:
        texts.append(graph.code)
        return graph.forward

    torch._dynamo.reset()
    model = runtime.reference(workload, device)
    model.function = torch.compile(model.function, dynamic=True, fullgraph=True, backend=keep)
    try:
        model.raw(runtime.build_inputs(workload, 0, device))
    except Exception as error:  # dynamo has many: whatever stops the trace means no lowering
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise KernelwrightError(f"torch.compile cannot trace the reference as one graph: {first}") from None
    if len(texts) != 1:
        raise KernelwrightError(f"the reference traces into {len(texts)} graphs, expected one")
    return texts[0]


def _same_graph_everywhere(operator: Any, runtime: Any, chosen: Any, device: str) -> None:
    """Refuse an operator whose constructor arguments change the graph: one lowering would be wrong for some of them."""
    expected = _graph_of(runtime, chosen, device)
    seen = {json.dumps(chosen.init_kwargs, sort_keys=True)}
    for workload in [*operator.edge_workloads.values(), *operator.workloads.values()]:
        key = json.dumps(workload.init_kwargs, sort_keys=True)
        small = min(operator.axis_values(workload).values(), default=2) > 1
        if key in seen or not small or len(seen) >= MOST_GRAPHS_CHECKED:
            continue
        seen.add(key)
        if _graph_of(runtime, workload, device) != expected:
            raise KernelwrightError(
                f"constructor arguments {workload.init_kwargs} trace into another graph than {chosen.init_kwargs}"
            )


def _compiled(runtime: Any, workload: Any, device: str) -> Lowering:
    import torch
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.cpu_vec_isa import pick_vec_isa
    from torch._inductor.utils import run_and_get_code

    arguments: list[dict[str, Any]] = []
    returned: list[Any] = []

    def backend(graph: Any, examples: list[Any]) -> Any:
        arguments.extend(_argument(node) for node in graph.graph.nodes if node.op == "placeholder")
        compiled = compile_fx(graph, examples)

        def call(*values: Any) -> Any:
            out = compiled(*values)
            returned[:] = list(out)
            return out

        return call

    torch._dynamo.reset()
    model = runtime.reference(workload, device)
    reference = model.function
    model.function = torch.compile(reference, dynamic=True, fullgraph=True, backend=backend)
    inputs = runtime.build_inputs(workload, 0, device)
    with torch.no_grad():
        raw, codes = run_and_get_code(model.raw, inputs)
    if len(codes) != 1:
        raise KernelwrightError(f"Inductor generated {len(codes)} modules for the reference, expected one")
    if runtime.operator.layout == "sol_execbench":
        parts = _function_parts(ast.parse(runtime.operator.details["reference"]), runtime.operator.reference_name)
    else:
        source = ast.parse(inspect.getsource(inspect.getmodule(type(reference))))  # type: ignore[arg-type]
        parts = _reference_parts(source, type(reference).__name__)
    return Lowering(
        code=codes[0],
        arguments=arguments,
        outputs=_outputs(raw, returned, inputs),
        macros=list(pick_vec_isa().build_macro()) if device == "cpu" else [],
        capability=torch.backends.cpu.get_cpu_capability() if device == "cpu" else "",
        mutates=list(runtime.operator.mutates),
        **parts,
    )


def _argument(node: Any) -> dict[str, Any]:
    """How a graph input is found from the call: dynamo's own expression over the arguments and `self`."""
    known = node.meta.get("grapharg")
    source = getattr(known, "source", None)
    name = source.name if source is not None else None
    text = name() if callable(name) else name  # a method up to torch 2.11
    if not text:
        raise KernelwrightError(f"graph input {node.name} has no source")
    value = node.meta.get("example_value")
    as_tensor = bool(getattr(known, "pass_arg_as_tensor", False))
    return {"source": text, "as_tensor": as_tensor, "dtype": str(getattr(value, "dtype", "")).removeprefix("torch.")}


def _outputs(raw: Any, returned: list[Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Which result of the graph, or which input, each returned value is. Raises KernelwrightError for anything else."""
    values = list(raw) if isinstance(raw, tuple | list) else [raw]
    found = []
    for value in values:
        by_identity: list[dict[str, Any]] = [{"result": index} for index, out in enumerate(returned) if out is value]
        by_identity += [{"input": name} for name, given in inputs.items() if given is value]
        if not by_identity:
            raise KernelwrightError("the reference returns a value that is neither a result of its graph nor an input")
        found.append(by_identity[0])
    return {"count": len(returned), "single": not isinstance(raw, tuple | list), "values": found}


def _reference_parts(tree: ast.Module, class_name: str) -> dict[str, Any]:
    """Imports, literal constants, constructor and forward parameters of the reference's source."""
    model = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name)
    methods = {node.name: node for node in model.body if isinstance(node, ast.FunctionDef)}
    constructor = methods.get("__init__")
    if "forward" not in methods:
        raise KernelwrightError(f"{class_name} has no forward of its own")
    init_body = constructor.body if constructor else []
    own_call = {"super().__init__()", f"super({class_name}, self).__init__()"}
    return {
        **_module_parts(tree),
        "init_parameters": ast.unparse(constructor.args) if constructor else "self",
        "init_body": [text for text in map(ast.unparse, init_body) if text not in own_call],
        "forward_parameters": _parameters(methods["forward"]),
    }


def _function_parts(tree: ast.Module, name: str) -> dict[str, Any]:
    """The same of a reference that is a function: it becomes the forward of a model without state."""
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    parameters = f"self, {_parameters(function)}"
    return {**_module_parts(tree), "init_parameters": "self", "init_body": [], "forward_parameters": parameters}


def _module_parts(tree: ast.Module) -> dict[str, Any]:
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    constants = [
        ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    ]
    return {"imports": [text for text in imports if "__future__" not in text], "constants": constants}


def _parameters(function: ast.FunctionDef) -> str:
    """Raises KernelwrightError for parameters whose number is open."""
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise KernelwrightError(f"{function.name} takes *args, **kwargs or keyword-only arguments")
    return ast.unparse(arguments)


def as_function(text: str, operator: Any) -> str:
    """The text of a kernel file with class `LOWERED`, as one that defines the operator's function."""
    name, inputs = operator.candidate_name, ", ".join(operator.inputs)
    return f"{text.rstrip()}\n\n\n_lowered = {LOWERED}()\n\n\ndef {name}({inputs}):\n    return _lowered({inputs})\n"


def main(argv: list[str] | None = None) -> int:
    import dataclasses

    from kernelwright import operators

    parser = argparse.ArgumentParser(prog="python -m kernelwright.search.inductor", description=__doc__)
    parser.add_argument("--operator-dir", type=Path, required=True)
    parser.add_argument("--workloads", nargs="+", required=True)
    parser.add_argument("--device", choices=sorted(set(DEVICES.values())), required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(argv)
    lowering = trace(operators.load(args.operator_dir), args.workloads, args.device)
    artifacts.write_text(args.output, json.dumps(dataclasses.asdict(lowering)))
    return 0


if __name__ == "__main__":
    sys.exit(cli.step(main)())
