"""Rows copied into caches at slots in Triton; read as for the C++ template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.search.templates import scatter, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_scatter"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = "all caches are written by one launch, each row by wide copies of one program"
FAMILIES = scatter.FAMILIES
ADDRESSES = scatter.ADDRESSES
PRECISION = scatter.PRECISION
SPACE: dict[str, tuple[Any, ...]] = {
    **triton_base.STREAM_SPACE,
    "elements": (2048, 1024, 512, 4096),  # of a row; rows shorter than this share a program
    "per_thread": (8, 16, 32),
}
hypotheses, formula = scatter.hypotheses, scatter.formula


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    return triton_base.render("scatter", facts, SUMMARY + ".", parameters, semantics)
