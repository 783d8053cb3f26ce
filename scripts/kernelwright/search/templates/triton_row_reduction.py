"""Sum or mean over the middle axis in Triton; read as for the C++ template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.search.templates import base, row_reduction, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_row_reduction"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = "all summands of a block of columns are loaded before the first is used, the sum stays in fp32 registers"
FAMILIES = row_reduction.FAMILIES
ADDRESSES = row_reduction.ADDRESSES
PRECISION = row_reduction.PRECISION
SPACE: dict[str, tuple[Any, ...]] = {
    **triton_base.STREAM_SPACE,
    "elements": (1024, 2048, 512, 256, 4096),
    "per_thread": (8, 16),
}
hypotheses, formula = row_reduction.hypotheses, row_reduction.formula


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    scale = base.scalar_text(semantics["scale"])
    return triton_base.render("row_reduction", facts, SUMMARY + ".", parameters, semantics, scale=scale)
