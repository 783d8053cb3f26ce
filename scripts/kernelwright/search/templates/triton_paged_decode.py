"""Attention of one query token per sequence over a paged cache, the sequence split over programs when there are few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any

from kernelwright.search.templates import base, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_paged_decode"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = "keys and values are read once, in place, for all query heads that share them; long sequences are split"
FAMILIES = ("attention", "paged_attention", None)
ADDRESSES = ("memory", "launch", "occupancy")
PRECISION = "float64"
SPACE: dict[str, tuple[Any, ...]] = {
    "chunk": (32, 64, 128),  # read at a time
    "warps": (4, 2, 8),
    "stages": (2, 3, 1),
    "waves": (2, 1, 4, 8),  # programs per multiprocessor up to which sequences are split
}
TYPES = ("bfloat16", "float16")


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    by_rank = {rank: [name for name in names if facts.inputs[name]["rank"] == rank] for rank in (1, 2, 3, 4)}
    counts = {rank: len(found) for rank, found in by_rank.items()}
    plain = not (facts.state or facts.mutates) and len(names) == len(facts.inputs) == 5 and len(outputs) == 1
    if not plain or counts != {1: 1, 2: 1, 3: 1, 4: 2}:
        return
    query, table, lengths = by_rank[3][0], by_rank[2][0], by_rank[1][0]
    floats = (query, *by_rank[4], *outputs)
    if len({facts.dtype(name) for name in floats}) > 1 or facts.dtype(query) not in TYPES:
        return
    if any(facts.dtype(name) not in ("int32", "int64") for name in (table, lengths)):
        return
    scales: list[dict[str, Any]] = [{"head": -0.5}] + [{"init": name} for name in facts.init_of_type(float)]
    for (k, v), scale, heads_last in product(permutations(by_rank[4]), scales, (True, False)):
        yield {
            "query": query, "k": k, "v": v, "table": table, "lengths": lengths, "out": outputs[0], "scale": scale,
            "heads_last": heads_last,  # a block is (size, heads, dim), or else (heads, size, dim)
        }  # fmt: skip


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    query, lengths = inputs[semantics["query"]], inputs[semantics["lengths"]]
    caches = [inputs[semantics[name]] for name in ("k", "v")]
    caches = caches if semantics["heads_last"] else [cache.transpose(1, 2) for cache in caches]
    keys, values = (cache[inputs[semantics["table"]].long()].flatten(1, 2) for cache in caches)
    where = semantics["scale"]
    scale = query.shape[-1] ** where["head"] if "head" in where else base.scalar(where, init)
    group = query.shape[1] // keys.shape[2]
    grouped = query.unflatten(1, (keys.shape[2], group))
    scores = torch.einsum("shgd,slhd->shgl", grouped, keys) * scale
    beyond = torch.arange(keys.shape[1])[None, :] >= lengths[:, None]
    scores = scores.masked_fill(beyond[:, None, None, :], float("-inf"))
    out = torch.einsum("shgl,slhd->shgd", torch.softmax(scores, dim=-1), values)
    return {semantics["out"]: out.flatten(1, 2)}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    where = semantics["scale"]
    scale = f"size ** {where['head']}" if "head" in where else base.scalar_text(where)
    return triton_base.render("paged_decode", facts, SUMMARY + ".", parameters, semantics, scale=scale)
