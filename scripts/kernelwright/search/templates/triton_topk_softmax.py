"""The largest softmax weights of each row in Triton; read as for the C++ template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.search.templates import base, topk_softmax, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_topk_softmax"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = "softmax and selection in registers: values as integers of the same order, whose maximum a warp finds in one instruction"
FAMILIES = topk_softmax.FAMILIES
ADDRESSES = topk_softmax.ADDRESSES
PRECISION = topk_softmax.PRECISION
SPACE: dict[str, tuple[Any, ...]] = {
    "elements": (512, 128, 256, 1024, 2048),
    "per_thread": (4, 8, 16),
}
hypotheses, formula = topk_softmax.hypotheses, topk_softmax.formula


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    top_k = base.scalar_text(semantics["top_k"])
    return triton_base.render("topk_softmax", facts, SUMMARY + ".", parameters, semantics, top_k=top_k)
