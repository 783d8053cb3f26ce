"""What the Triton templates share: their parameters and how a kernel file is filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.search.templates import base
from kernelwright.search.templates.base import Facts

FRAMEWORK = "triton"

# Parameters of kernels whose time is that of their memory traffic; the first value is the default.
# elements: how many a program handles at a time; per_thread: how many of them one thread holds, from which the number of
# warps follows. 16 bytes is the widest access of a thread, so 16 elements of 2 bytes are two independent loads.
STREAM_SPACE: dict[str, tuple[Any, ...]] = {
    "elements": (4096, 2048, 1024, 8192, 16384),
    "per_thread": (16, 8, 32),
    "evict_first": (True, False),
}


def render(
    template: str, facts: Facts, summary: str, parameters: Mapping[str, Any], semantics: Mapping[str, Any], **names: Any
) -> str:
    """A kernel file from source/triton/<template>.py.j2, which sees roles (s), parameters (p) and scalars as text."""
    init = ", ".join(name if default is None else f"{name}={default}" for name, default in facts.init)
    evict = ', eviction_policy="evict_first"' if parameters.get("evict_first") else ""
    return base.render(
        f"triton/{template}.py.j2", facts=facts, summary=summary, init=init, s=semantics, p=parameters, evict=evict,
        dtype_of=lambda out, like: dtype_text(facts, out, like), **names,
    )  # fmt: skip


def dtype_text(facts: Facts, output: str, like: str) -> str:
    """The output's dtype as Python text: the input's own where they agree, so that other dtypes are served too."""
    seen = facts.outputs[output]["dtype"]
    return f"{like}.dtype" if seen == facts.dtype(like) else f"torch.{seen}"


def tile(text: str) -> dict[str, int]:
    """`rows x columns [x depth] / warps / stages` of a parameter as numbers."""
    sizes, warps, stages = text.split("/")
    numbers = [int(number) for number in sizes.split("x")]
    names = ("rows", "columns", "depth")[: len(numbers)]
    return {**dict(zip(names, numbers, strict=True)), "warps": int(warps), "stages": int(stages)}
