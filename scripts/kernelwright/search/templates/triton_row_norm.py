"""Row normalisation in Triton; what an operator means is read as for the C++ template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.search.templates import base, row_norm, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_row_norm"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = "each row is read once and stays in registers between its statistics and its scaling"
FAMILIES = row_norm.FAMILIES
ADDRESSES = row_norm.ADDRESSES
PRECISION = row_norm.PRECISION
SPACE: dict[str, tuple[Any, ...]] = {
    **triton_base.STREAM_SPACE,
    "programs": (0, 2, 4, 8),  # per multiprocessor, each walking over rows; 0: one program for each block of rows
    "stages": (1, 2, 3),  # loads ahead of such a walk
}
hypotheses, formula = row_norm.hypotheses, row_norm.formula


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    eps = base.scalar_text(semantics["eps"])
    return triton_base.render("row_norm", facts, SUMMARY + ".", parameters, semantics, eps=eps)
