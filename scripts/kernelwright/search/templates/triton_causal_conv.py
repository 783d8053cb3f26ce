"""Depthwise causal convolution in Triton; read as for the C++ template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.search.templates import causal_conv, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_causal_conv"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = "all taps, bias and activation in one pass; dense inputs are read in words across row ends, so that odd lengths cost no width"
FAMILIES = causal_conv.FAMILIES
ADDRESSES = causal_conv.ADDRESSES
PRECISION = causal_conv.PRECISION
SPACE: dict[str, tuple[Any, ...]] = {
    "elements": (512, 1024, 2048, 256, 4096),
    "steps": (1024, 256, 512, 2048, 128),  # of time in a tile, at most
    "per_thread": (8, 16, 4, 32),
    "words": (True, False),  # four neighbours are read at once where the input is dense and of 16-bit floats
}
hypotheses, formula = causal_conv.hypotheses, causal_conv.formula


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    where = semantics["activation"]
    silu = repr(where["value"] == "silu") if "value" in where else f'self.{where["init"]} == "silu"'
    return triton_base.render("causal_conv", facts, SUMMARY + ".", parameters, semantics, silu=silu)
