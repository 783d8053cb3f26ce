"""Rotary position embedding of queries and keys from tables of cosines and sines, with one or several position axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any

from kernelwright.search.templates import base
from kernelwright.search.templates.base import COMMON_SPACE, CPP_TYPES, Facts

NAME = "rotary"
FRAMEWORK = "cpp"
CATEGORY = "fusion"
SUMMARY = "table selection, rotation of all heads of q and k and the cast fused, one pass over each token"
FAMILIES = ("rotary", None)
ADDRESSES = ("memory", "launch", "occupancy")
PRECISION = "float64"
SPACE: dict[str, tuple[Any, ...]] = {name: values for name, values in COMMON_SPACE.items() if name != "unroll"}


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    heads = [name for name in names if facts.inputs[name]["rank"] == 2]
    tables = [name for name in names if facts.inputs[name]["rank"] == 3]
    plain = not (facts.state or facts.mutates or facts.aliases) and len(names) == len(facts.inputs)
    if not plain or len(heads) != 2 or len(tables) != 2 or len(outputs) != 2:
        return
    same = (
        len({facts.dtype(name) for name in (*heads, *outputs)}) == 1
        and len({facts.dtype(name) for name in tables}) == 1
    )
    if not same or not base.single_dtype(facts, *names):
        return
    flags = [{"init": name} for name in facts.init_of_type(bool)] + [{"value": True}, {"value": False}]
    for sizes, sections in product(permutations(facts.init_of_type(int), 2), facts.init_of_type(list, tuple)):
        for (cos, sin), neox, interleaved in product((tables, tables[::-1]), flags, flags):
            yield {
                "q": heads[0], "k": heads[1], "cos": cos, "sin": sin, "outputs": outputs,
                "head_size": {"init": sizes[0]}, "rotary_dim": {"init": sizes[1]}, "sections": {"init": sections},
                "neox": neox, "interleaved": interleaved,
            }  # fmt: skip


def axes_of(sections: list[int], half: int, interleaved: bool) -> list[int]:
    """Position axis of each rotated dimension: blocks per axis, or axis i % n while that axis has dimensions left.

    Raises ValueError when the sections do not cover `half` dimensions.
    """
    if sum(sections) != half:
        raise ValueError(f"sections {sections} do not add up to {half}")
    if not interleaved:
        return [axis for axis, count in enumerate(sections) for _ in range(count)]
    number = len(sections)
    return [i % number if i // number < sections[i % number] else 0 for i in range(half)]


def _flag(where: Mapping[str, Any], init: Mapping[str, Any]) -> bool:
    return bool(where["value"] if "value" in where else init[where["init"]])


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    size, rotary = init[semantics["head_size"]["init"]], init[semantics["rotary_dim"]["init"]]
    axes = torch.tensor(
        axes_of(list(init[semantics["sections"]["init"]]), rotary // 2, _flag(semantics["interleaved"], init))
    )
    columns = torch.arange(rotary // 2)
    cos, sin = (inputs[semantics[name]][axes, :, columns].T[:, None, :] for name in ("cos", "sin"))
    found = {}
    for name, out in zip(("q", "k"), semantics["outputs"], strict=True):
        x = inputs[semantics[name]]
        heads = x.reshape(x.shape[0], -1, size).clone()
        turned = heads[..., :rotary]
        split = turned.chunk(2, dim=-1) if _flag(semantics["neox"], init) else (turned[..., ::2], turned[..., 1::2])
        first, second = (part.clone() for part in split)
        split[0].copy_(first * cos - second * sin)
        split[1].copy_(second * cos + first * sin)
        found[out] = heads.reshape(x.shape)
    return found


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    dtypes = [facts.dtype(semantics["q"]), facts.dtype(semantics["cos"])]
    defines = {
        **base.common_defines({**parameters, "unroll": 1}, dtypes),
        "KW_X": CPP_TYPES[dtypes[0]],
        "KW_TABLE": CPP_TYPES[dtypes[1]],
    }
    names = {key: semantics[key] for key in ("q", "k", "cos", "sin")}
    texts = {
        key: base.scalar_text(semantics[key]) for key in ("head_size", "rotary_dim", "sections", "neox", "interleaved")
    }
    return base.render_module(NAME, facts, base.cpp_source(NAME, defines), SUMMARY + ".", **texts, **names)
