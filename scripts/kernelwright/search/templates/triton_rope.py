"""Rotary position embedding with one position for each token in Triton: heads side by side, tables of a half or a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from kernelwright.search.templates import base, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_rope"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = "a program turns all heads of q and k of a token, so that its row of the tables is read once"
FAMILIES = ("rotary", None)
ADDRESSES = ("memory", "launch", "occupancy")
PRECISION = "float64"
SPACE: dict[str, tuple[Any, ...]] = {
    "heads": (16, 8, 4, 32),  # turned at a time
    "per_thread": (8, 16, 4),
    "evict_first": (True, False),
}
LAYOUTS = {3: ("shd",), 4: ("bshd", "bhsd")}  # axes of q and k by rank: batch, sequence, heads, dimensions
TABLE_RANKS = (2, 3)  # (sequence, width), or with a batch before it


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    plain = not (facts.state or facts.mutates or facts.aliases) and len(names) == len(facts.inputs)
    if not plain or len(names) - 2 != len(outputs) or len(outputs) not in (1, 2):
        return
    if not base.single_dtype(facts, *names, *outputs):
        return
    number = len(outputs)
    for heads, tables in ((names[:number], names[number:]), (names[2:], names[:2])):  # tables come last, or else first
        ranks = {facts.inputs[name]["rank"] for name in heads}
        table_ranks = {facts.inputs[name]["rank"] for name in tables}
        alike = (
            len({facts.dtype(name) for name in (*heads, *outputs)}) == len({facts.dtype(name) for name in tables}) == 1
        )
        if not alike or len(ranks) != 1 or len(table_ranks) != 1 or next(iter(table_ranks)) not in TABLE_RANKS:
            continue
        layouts = LAYOUTS.get(next(iter(ranks)), ())
        for layout, (cos, sin), neox, whole in product(layouts, (tables, tables[::-1]), (True, False), (True, False)):
            if "b" in layout or table_ranks == {2}:
                yield {
                    "heads": heads, "outputs": outputs, "cos": cos, "sin": sin, "layout": layout, "neox": neox,
                    "whole": whole, "batched": table_ranks == {3},
                }  # fmt: skip


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    cos, sin = (inputs[semantics[name]] for name in ("cos", "sin"))
    axis = 1 if semantics["layout"] == "bhsd" else -2  # of the heads
    cos, sin = (part if semantics["batched"] or axis == -2 else part[None] for part in (cos, sin))
    cos, sin = cos.unsqueeze(axis), sin.unsqueeze(axis)
    found = {}
    for name, out in zip(semantics["heads"], semantics["outputs"], strict=True):
        x = inputs[name]
        half = x.shape[-1] // 2
        width = 2 * half if semantics["whole"] else half
        if cos.shape[-1] != width or x.shape[-1] % 2:
            raise ValueError(f"tables of {cos.shape[-1]} for heads of {x.shape[-1]}")
        split = [slice(0, half), slice(half, None)] if semantics["neox"] else [slice(0, None, 2), slice(1, None, 2)]
        c = [cos[..., part] if semantics["whole"] else cos for part in split]
        s = [sin[..., part] if semantics["whole"] else sin for part in split]
        first, second = (x[..., part] for part in split)
        turned = torch.empty_like(x)
        turned[..., split[0]] = first * c[0] - second * s[0]
        turned[..., split[1]] = second * c[1] + first * s[1]
        found[out] = turned
    return found


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    return triton_base.render("rope", facts, SUMMARY + ".", parameters, semantics)
