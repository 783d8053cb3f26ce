"""What can be said about a candidate from its text alone. Nothing of it is run here."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelwright.judge.faults import Fault

MAX_BYTES = 4 << 20
EVALUATOR_MODULES = {"kernelwright", "reference", "input"}
FRAMEWORK_PACKAGES = {
    "triton": {"triton"},
    "gluon": {"triton"},
    "cutedsl": {"cutlass", "cuda"},
    "tilelang": {"tilelang", "tvm"},
    "flydsl": {"flydsl"},
    "cuda": set(),
    "hip": set(),
    "cpp": set(),
}
OTHER_PACKAGES = {
    "triton",
    "cutlass",
    "tilelang",
    "tvm",
    "flydsl",
    "numba",
    "cupy",
    "jax",
    "jaxlib",
    "tensorflow",
    "onnxruntime",
    "flashinfer",
    "flash_attn",
    "vllm",
    "sglang",
    "aiter",
    "xformers",
    "apex",
    "scipy",
    "mxnet",
    "paddle",
    "taichi",
    "cuda",
    "liger_kernel",
    "transformer_engine",
    "quack",
    "deep_gemm",
    "keras",
    "mlx",
    "tinygrad",
    "openvino",
    "fbgemm_gpu",
    "torchao",
    "intel_extension_for_pytorch",
    "onednn",
    "mkl",
    "numexpr",
    "bottleneck",
    "pythran",
}
ARRAY_PACKAGES = {  # compute on arrays outside torch; torch or the judge may have loaded some of them, so the text counts
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "sklearn",
    "dask",
    "xarray",
}


@dataclass(frozen=True)
class Source:
    """A candidate's frozen text."""

    path: str
    text: str
    sha256: str
    tree: ast.Module
    encoding: str = "utf-8"


def freeze(path: str, entry: str) -> Source:
    """Read, hash and parse a candidate. Raises Fault when there is none or it lacks its entry point."""
    import hashlib

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise Fault("no_candidate", f"{path} cannot be read ({error.strerror})") from None
    if len(data) > MAX_BYTES:
        raise Fault("bad_contract", f"the candidate has {len(data)} bytes, allowed are {MAX_BYTES}")
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]  # by its mark or its first two lines
        text = data.decode(encoding)
        tree = ast.parse(text)
    except (UnicodeDecodeError, SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise Fault("bad_contract", f"the candidate is not Python ({error.__class__.__name__}{line})") from None
    except (RecursionError, MemoryError) as error:
        raise Fault(
            "bad_contract", f"the candidate is nested too deeply for Python's parser ({error.__class__.__name__})"
        ) from None
    if entry not in set(defined(tree)):
        raise Fault("bad_contract", f"the candidate does not define {entry}")
    return Source(path, text, hashlib.sha256(data).hexdigest(), tree, encoding.removesuffix("-sig"))


def defined(tree: ast.Module) -> Iterator[str]:
    """Names that the top level of a module binds, also under if and try."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def imported(tree: ast.Module) -> set[str]:
    """Top-level packages that are imported anywhere in the text, by statement or by a literal name."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and called(node) in ("importlib.import_module", "import_module", "__import__"):
            names |= {
                arg.value.partition(".")[0]
                for arg in node.args[:1]
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            }
    return names


def called(node: ast.Call) -> str:
    """Dotted name of what a call calls, or an empty string."""
    parts: list[str] = []
    target: ast.expr = node.func
    while isinstance(target, ast.Attribute):
        parts.append(target.attr)
        target = target.value
    return ".".join(reversed([*parts, target.id])) if isinstance(target, ast.Name) else ""


def check_text(source: Source, framework: str | None, mode: str) -> list[str]:
    """Policy that the text alone decides; evidence lines. Raises Fault."""
    names = imported(source.tree)
    reached = sorted(names & EVALUATOR_MODULES)
    if reached:
        raise Fault("reference_called", f"the candidate imports {', '.join(reached)}, which belongs to the evaluator")
    evidence = [f"imports {', '.join(sorted(names)) or 'nothing'}"]
    if mode != "production":
        return evidence
    foreign = sorted((names & (OTHER_PACKAGES | ARRAY_PACKAGES)) - FRAMEWORK_PACKAGES.get(framework or "", set()))
    if foreign:
        raise Fault(
            "other_framework",
            f"the candidate imports {', '.join(foreign)}, which is not {framework or 'its framework'}",
        )
    literal = external_loads(source.tree)
    if literal:
        raise Fault("external_loading", f"the candidate loads a prebuilt file: {literal[0]}")
    return evidence


def external_loads(tree: ast.Module) -> list[str]:
    """Loads of native code from a path written in the text."""
    loaders = ("CDLL", "PyDLL", "LoadLibrary", "load_library", "cuModuleLoad")
    return [
        f"{called(node)}({node.args[0].value!r})"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and called(node).rpartition(".")[2] in loaders
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]
