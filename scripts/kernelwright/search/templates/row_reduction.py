"""Sum or mean over the middle axis of (rows, k, width), times a scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernelwright.search.templates import base
from kernelwright.search.templates.base import COMMON_SPACE, CPP_TYPES, Facts

NAME = "row_reduction"
FRAMEWORK = "cpp"
CATEGORY = "fusion"
SUMMARY = "reduction, scale and cast fused, fp32 partial sums in registers or in a row that stays in cache"
FAMILIES = ("row_reduction", None)
ADDRESSES = ("memory", "launch", "occupancy")  # bounds it acts on
PRECISION = "float64"
SPACE: dict[str, tuple[Any, ...]] = {**COMMON_SPACE, "order": ("rows", "columns"), "block": (2048, 512, 4096)}

ORDERS = ("columns", "rows")


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    plain = not (facts.state or facts.mutates) and len(names) == len(facts.inputs) == len(outputs) == 1
    if not plain or facts.inputs[names[0]]["rank"] != 3 or not base.single_dtype(facts, names[0], outputs[0]):
        return
    for scale in [{"init": name} for name in facts.init_names()] + [{"value": 1.0}]:
        for mean in (False, True):
            yield {"x": names[0], "out": outputs[0], "scale": scale, "mean": mean}


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    x = inputs[semantics["x"]]
    total = x.mean(dim=1) if semantics["mean"] else x.sum(dim=1)
    return {semantics["out"]: total * base.scalar(semantics["scale"], init)}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    dtypes = [facts.dtype(name) for name in (semantics["x"], semantics["out"])]
    defines = {
        **base.common_defines(parameters, dtypes),
        "KW_X": CPP_TYPES[dtypes[0]],
        "KW_OUT": CPP_TYPES[dtypes[1]],
        "KW_ORDER": ORDERS.index(parameters["order"]),
        "KW_BLOCK": parameters["block"],
    }
    scale = base.scalar_text(semantics["scale"]) + (" / x.shape[1]" if semantics["mean"] else "")
    names = {"x": semantics["x"], "out": semantics["out"], "scale": scale}
    return base.render_module(NAME, facts, base.cpp_source(NAME, defines), SUMMARY + ".", **names)
