"""Rotary position embedding in Triton; read as for the C++ template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.search.templates import base, rotary, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_rotary"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = "a program turns all heads of q and k of a token, so that its row of the tables is selected and read once"
FAMILIES = rotary.FAMILIES
ADDRESSES = rotary.ADDRESSES
PRECISION = rotary.PRECISION
SPACE: dict[str, tuple[Any, ...]] = {
    "heads": (16, 8, 4, 32),  # turned at a time
    "per_thread": (8, 16, 4),
    "tokens": (1, 2, 4),  # of a program, one after the other
    "evict_first": (True, False),
}
hypotheses, formula = rotary.hypotheses, rotary.formula
TEXTS = ("head_size", "rotary_dim", "sections", "neox", "interleaved")


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    texts = {key: base.scalar_text(semantics[key]) for key in TEXTS}
    return triton_base.render("rotary", facts, SUMMARY + ".", parameters, semantics, **texts)
