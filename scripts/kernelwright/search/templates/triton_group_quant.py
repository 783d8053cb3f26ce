"""Quantisation of groups to 8-bit floats in Triton; read as for the C++ template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.search.templates import base, group_quant, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_group_quant"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = "largest value, scale and rounding of many groups in one program, each value read once"
FAMILIES = group_quant.FAMILIES
ADDRESSES = group_quant.ADDRESSES
PRECISION = group_quant.PRECISION
SPACE: dict[str, tuple[Any, ...]] = {
    **triton_base.STREAM_SPACE,
    "reciprocal": (False, True),
}
hypotheses, formula = group_quant.hypotheses, group_quant.formula


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    texts = {key: base.scalar_text(semantics[key]) for key in ("group", "eps")}
    return triton_base.render("group_quant", facts, SUMMARY + ".", parameters, semantics, **texts)
