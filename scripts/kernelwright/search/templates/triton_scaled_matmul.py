"""Matrix product of 8-bit floats with a scale for each block of both operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any

from kernelwright.search.templates import base, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_scaled_matmul"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = (
    "8-bit tensor cores multiply each block of the inner dimension, its scales are applied to the partial sum in fp32"
)
FAMILIES = ("matmul", None)
ADDRESSES = ("compute", "memory", "launch", "occupancy")
PRECISION = "float64"
SPACE: dict[str, tuple[Any, ...]] = {
    "tile": ("64x128x128/4/3", "64x128x128/4/4", "128x128x128/8/3", "128x128x128/8/4", "128x64x128/4/4", "64x64x128/4/4"),
    "narrow_tile": ("64x64x128/4/4", "64x32x128/4/4", "16x32x128/4/4", "64x128x128/4/3"),
    "descriptors": (True, False),
    "persistent": (False, True),
    "group": (32, 8, 16, 4),
}  # fmt: skip

FP8 = ("float8_e4m3fn", "float8_e5m2")
USUAL_GROUPS = (128, 64)


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    operands = [name for name in names if facts.dtype(name) in FP8]
    scales = [name for name in names if facts.dtype(name) == "float32"]
    plain = not (facts.state or facts.mutates) and len(names) == len(facts.inputs) == 4 and len(outputs) == 1
    if not plain or len(operands) != 2 or len(scales) != 2 or any(facts.inputs[n]["rank"] != 2 for n in names):
        return
    if not base.single_dtype(facts, *outputs):
        return
    known: list[dict[str, Any]] = [{"init": name} for name in facts.init_of_type(int)]
    sizes: list[tuple[dict[str, Any], dict[str, Any]]] = [(n, k) for n, k in permutations(known, 2)] + [
        (one, one) for one in known
    ]
    sizes += [({"value": size}, {"value": size}) for size in USUAL_GROUPS]
    for (a, b), (a_scales, b_scales), (group_n, group_k), transposed in product(
        permutations(operands), permutations(scales), sizes, (True, False)
    ):
        yield {
            "a": a, "b": b, "a_scales": a_scales, "b_scales": b_scales, "group_n": group_n, "group_k": group_k,
            "transposed": transposed, "out": outputs[0],
        }  # fmt: skip


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    a, b = inputs[semantics["a"]], inputs[semantics["b"]]
    a_scales, b_scales = inputs[semantics["a_scales"]], inputs[semantics["b_scales"]]
    b = b if semantics["transposed"] else b.T  # (n, k)
    b_scales = b_scales if semantics["transposed"] else b_scales.T
    group_n, group_k = (int(base.scalar(semantics[key], init)) for key in ("group_n", "group_k"))
    (n, k), wide = b.shape, a_scales.dtype
    left = a.to(wide) * a_scales.repeat_interleave(group_k, dim=1)[:, :k]
    right = b.to(wide) * b_scales.repeat_interleave(group_n, dim=0)[:n].repeat_interleave(group_k, dim=1)[:, :k]
    return {semantics["out"]: left @ right.T}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    tiles = {key: triton_base.tile(parameters[key]) for key in ("tile", "narrow_tile")}
    texts = {key: base.scalar_text(semantics[key]) for key in ("group_n", "group_k")}
    return triton_base.render("scaled_matmul", facts, SUMMARY + ".", parameters, semantics, tiles=tiles, **texts)
