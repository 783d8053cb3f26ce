"""Attention forward in Triton: packed sequences with their bounds, or a batch of equally long ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from kernelwright.search.templates import triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_attention"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = (
    "scores never leave the chip: running maximum and sum per query, a head dimension between two powers of two is split "
    "in two parts instead of padded"
)
FAMILIES = ("attention", None)
ADDRESSES = ("compute", "memory", "launch", "occupancy")
PRECISION = "float64"
SPACE: dict[str, tuple[Any, ...]] = {
    "tile": ("128x128/8/3", "128x64/4/3", "64x64/4/3", "64x32/4/4", "128x64/8/3", "128x128/8/2"),
    "descriptors": (True, False),
    "rest_first": (True, False),  # of the two parts of a head, which is multiplied first
}
TYPES = ("bfloat16", "float16")
LAYOUTS = ("heads_first", "heads_last")  # of a batch: (batch, heads, length, dim) or (batch, length, heads, dim)


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    if facts.state or facts.mutates or len(names) != len(facts.inputs) or len(outputs) != 1:
        return
    heads = [name for name in names if facts.inputs[name]["rank"] >= 3]
    bounds = [name for name in names if facts.inputs[name]["rank"] == 1]
    if len(heads) != 3 or len({facts.dtype(name) for name in (*heads, *outputs)}) > 1:
        return
    if facts.dtype(heads[0]) not in TYPES or len(heads) + len(bounds) != len(names):
        return
    ranks = {facts.inputs[name]["rank"] for name in heads}
    roles = {"q": heads[0], "k": heads[1], "v": heads[2], "out": outputs[0]}
    scales: list[dict[str, Any]] = [{"head": -0.5}, {"value": 1.0}]
    scales += [{"init": name} for name in facts.init_of_type(float)]
    causal = [{"value": False}, {"value": True}] + [{"init": name} for name in facts.init_of_type(bool)]
    if ranks == {3} and 1 <= len(bounds) <= 2 and all(facts.dtype(name) in ("int32", "int64") for name in bounds):
        for scale, mask in product(scales, causal):
            yield {
                **roles, "layout": "packed", "bounds_q": bounds[0], "bounds_k": bounds[-1], "scale": scale, "causal": mask,
            }  # fmt: skip
    if ranks == {4} and not bounds:
        for layout, scale, mask in product(LAYOUTS, scales, causal):
            yield {**roles, "layout": layout, "bounds_q": None, "bounds_k": None, "scale": scale, "causal": mask}


def _value(where: Mapping[str, Any], init: Mapping[str, Any], size: int) -> float:
    if "head" in where:
        return float(size ** where["head"])
    return float(where["value"] if "value" in where else init[where["init"]])


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    q, k, v = (inputs[semantics[name]] for name in ("q", "k", "v"))
    scale, causal = _value(semantics["scale"], init, q.shape[-1]), bool(_value(semantics["causal"], init, 1))
    if semantics["layout"] != "packed":
        if semantics["layout"] == "heads_last":
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        out = _attend(q, k, v, scale, causal)
        return {semantics["out"]: out if semantics["layout"] == "heads_first" else out.transpose(1, 2)}
    q_ends, k_ends = inputs[semantics["bounds_q"]].tolist(), inputs[semantics["bounds_k"]].tolist()
    out = torch.zeros_like(q)
    for i in range(len(q_ends) - 1):
        rows, columns = slice(q_ends[i], q_ends[i + 1]), slice(k_ends[i], k_ends[i + 1])
        if rows.start < rows.stop and columns.start < columns.stop:
            ours, keys, values = (part.transpose(0, 1) for part in (q[rows], k[columns], v[columns]))
            out[rows] = _attend(ours, keys, values, scale, causal).transpose(0, 1)
    return {semantics["out"]: out}


def _attend(q: Any, k: Any, v: Any, scale: float, causal: bool) -> Any:
    """(..., heads, length, dim); query heads in groups share a head of k and v; causal: the last query sees all keys."""
    import torch

    group = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(group, dim=-3), v.repeat_interleave(group, dim=-3)
    scores = q @ k.transpose(-1, -2) * scale
    if causal:
        ahead = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1 + k.shape[-2] - q.shape[-2])
        scores = scores.masked_fill(ahead, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    scale = semantics["scale"]
    text = f"size ** {scale['head']}" if "head" in scale else str(scale.get("value", f"self.{scale.get('init')}"))
    mask = semantics["causal"]
    causal = repr(mask["value"]) if "value" in mask else f"bool(self.{mask['init']})"
    tile = triton_base.tile(parameters["tile"])
    return triton_base.render(
        "attention", facts, SUMMARY + ".", parameters, semantics, scale=text, causal=causal, tile=tile
    )
