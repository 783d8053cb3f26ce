"""Rows copied into caches at slots: cache.flatten(0, 1)[slot[i]] = source[i], in place, for one or two caches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernelwright.search.templates import base
from kernelwright.search.templates.base import COMMON_SPACE, Facts

NAME = "scatter"
FRAMEWORK = "cpp"
CATEGORY = "fusion"
SUMMARY = "all caches are written by one call, each row by one copy"
FAMILIES = ("scatter", None)
ADDRESSES = ("memory", "launch", "occupancy")
PRECISION = "native"  # values are copied
SPACE: dict[str, tuple[Any, ...]] = {name: COMMON_SPACE[name] for name in ("parallel_bytes", "stream", "chunk")}


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names = facts.tensors()
    slots = [name for name in names if facts.inputs[name]["rank"] == 1 and facts.dtype(name) == "int64"]
    sources = [name for name in names if facts.inputs[name]["rank"] == 3]
    caches = [name for name in names if facts.inputs[name]["rank"] == 4]
    plain = not facts.state and len(names) == len(facts.inputs) == len(slots) + len(sources) + len(caches)
    if not plain or len(slots) != 1 or len(sources) != len(caches) or len(caches) not in (1, 2):
        return
    outputs = [facts.aliases.get(name) for name in facts.outputs]
    if sorted(caches) != sorted(facts.mutates) or set(outputs) - set(caches):
        return
    if any(facts.dtype(source) != facts.dtype(cache) for source, cache in zip(sources, caches, strict=True)):
        return
    for ordered in (caches, caches[::-1]):
        yield {
            "sources": sources,
            "caches": ordered,
            "slots": slots[0],
            "returns": outputs,
            "outputs": list(facts.outputs),
        }


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    written = {}
    for source, cache in zip(semantics["sources"], semantics["caches"], strict=True):
        written[cache] = inputs[cache].clone()
        written[cache].flatten(0, 1)[inputs[semantics["slots"]]] = inputs[source]
    return {name: written[cache] for name, cache in zip(semantics["outputs"], semantics["returns"], strict=True)}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    defines = base.common_defines({**parameters, "huge_pages": False, "unroll": 1}, [])
    names = {key: semantics[key] for key in ("sources", "caches", "slots", "returns")}
    return base.render_module(NAME, facts, base.cpp_source(NAME, defines), SUMMARY + ".", **names)
