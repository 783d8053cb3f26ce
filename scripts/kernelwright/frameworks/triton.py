"""Triton: kernels in Python, compiled for NVIDIA and AMD GPUs."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

NAME = "triton"
VENDORS = ("nvidia", "amd")
GUIDANCE = Path(__file__).parent / "guidance" / "triton.md"
DEVICE_NODES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # NVIDIA, AMD, either under WSL


def availability() -> tuple[bool, str]:
    """Whether Triton kernels can run here: looks for packages and device nodes, imports neither torch nor triton."""
    if find_spec("torch") is None:
        return False, "torch is missing: pip install torch"
    if find_spec("triton") is None:
        return False, "triton is missing: pip install triton"
    if not any(Path(node).exists() for node in DEVICE_NODES):
        return False, "no GPU driver on this machine (none of " + ", ".join(DEVICE_NODES) + ")"
    return True, "triton and a GPU driver are installed"


def own_kernels(source: str) -> list[str]:
    """Names of the functions a candidate decorates with triton.jit; raises SyntaxError when it is no Python."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return sorted(node.name for node in functions if any(_is_jit(d) for d in node.decorator_list))


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(target, ast.Attribute) and target.attr == "jit") or (
        isinstance(target, ast.Name) and target.id == "jit"
    )
