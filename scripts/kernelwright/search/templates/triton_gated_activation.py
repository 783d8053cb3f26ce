"""activation(gate) * up in Triton; read as for the C++ template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.search.templates import gated_activation, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_gated_activation"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = (
    "activation and product in one pass over the output as one long row, so that no lane idles at the end of a row"
)
FAMILIES = gated_activation.FAMILIES
ADDRESSES = gated_activation.ADDRESSES
PRECISION = gated_activation.PRECISION
SPACE: dict[str, tuple[Any, ...]] = {
    **triton_base.STREAM_SPACE,
    "elements": (2048, 1024, 4096, 8192, 512),
    "per_thread": (8, 16, 32),
}
hypotheses, formula = gated_activation.hypotheses, gated_activation.formula


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    return triton_base.render("gated_activation", facts, SUMMARY + ".", parameters, semantics)
