"""Row normalisation over the last axis: RMS, layer and L2 norms, with or without residual, weight and bias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from kernelwright.search.templates import base
from kernelwright.search.templates.base import COMMON_SPACE, CPP_TYPES, Facts

NAME = "row_norm"
FRAMEWORK = "cpp"
CATEGORY = "fusion"
SUMMARY = "one pass per row: statistics and scaling fused, the row stays in the first-level cache, lanes explicit"
FAMILIES = ("row_norm", None)
ADDRESSES = ("memory", "launch", "occupancy")  # bounds it acts on
PRECISION = "float64"
SPACE: dict[str, tuple[Any, ...]] = {**COMMON_SPACE, "cache_row": (False, True)}

STATISTICS = ("rms", "layer", "l2")
EPS_PLACES = ("inside_root", "at_least", "added")
USUAL_EPS = (1e-6, 1e-5, 1e-12, 1e-8, 1e-7, 0.0)


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    roles = _roles(facts)
    if roles is None:
        return
    eps_choices = [{"init": name} for name in facts.init_names()] + [{"value": value} for value in USUAL_EPS]
    offsets = (0.0, 1.0) if roles["weight"] else (0.0,)
    for statistic, place, offset, eps in product(STATISTICS, EPS_PLACES, offsets, eps_choices):
        yield {**roles, "statistic": statistic, "eps": eps, "eps_place": place, "weight_offset": offset}


def _roles(facts: Facts) -> dict[str, Any] | None:
    """Matrices are x and residual, vectors weight and bias, in call order; None when the operator looks different."""
    if facts.state or facts.mutates or len(facts.tensors()) != len(facts.inputs):
        return None
    matrices = [name for name in facts.tensors() if facts.inputs[name]["rank"] >= 2]
    vectors = [name for name in facts.tensors() if facts.inputs[name]["rank"] == 1]
    outputs = list(facts.outputs)
    if len(matrices) not in (1, 2) or len(vectors) > 2 or len(outputs) != len(matrices):
        return None
    if not base.single_dtype(facts, *facts.tensors(), *outputs):
        return None
    if len({facts.dtype(name) for name in matrices}) > 1 or len({facts.dtype(name) for name in vectors}) > 1:
        return None
    names: dict[str, Any] = dict(zip(("x", "residual"), [*matrices, None], strict=False))
    names |= dict(zip(("weight", "bias"), [*vectors, None, None], strict=False))
    names |= dict(zip(("out", "residual_out"), [*outputs, None], strict=False))
    if names["residual"] and facts.dtype(names["residual_out"]) != facts.dtype(names["x"]):
        return None
    return names


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    eps = base.scalar(semantics["eps"], init)
    total = inputs[semantics["x"]]
    outputs = {}
    if semantics["residual"]:
        total = total + inputs[semantics["residual"]]
        outputs[semantics["residual_out"]] = total
    rows = total - total.mean(-1, keepdim=True) if semantics["statistic"] == "layer" else total
    squares = rows.square()
    power = squares.sum(-1, keepdim=True) if semantics["statistic"] == "l2" else squares.mean(-1, keepdim=True)
    if semantics["eps_place"] == "inside_root":
        out = rows / (power + eps).sqrt()
    elif semantics["eps_place"] == "at_least":
        out = rows / power.sqrt().clamp_min(eps)
    else:
        out = rows / (power.sqrt() + eps)
    if semantics["weight"]:
        out = out * (inputs[semantics["weight"]] + semantics["weight_offset"])
    if semantics["bias"]:
        out = out + inputs[semantics["bias"]]
    return {semantics["out"]: out, **outputs}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    roles = {key: semantics[key] for key in ("x", "residual", "weight", "bias", "out", "residual_out")}
    x_type = CPP_TYPES[facts.dtype(roles["x"])]
    dtypes = [facts.dtype(name) for name in (*facts.tensors(), *facts.outputs)]
    defines = {
        **base.common_defines(parameters, dtypes),
        "KW_X": x_type,
        "KW_WEIGHT": CPP_TYPES[facts.dtype(roles["weight"])] if roles["weight"] else x_type,
        "KW_OUT": CPP_TYPES[facts.dtype(roles["out"])],
        "KW_STATISTIC": STATISTICS.index(semantics["statistic"]),
        "KW_EPS": EPS_PLACES.index(semantics["eps_place"]),
        "KW_HAS_RESIDUAL": bool(roles["residual"]),
        "KW_HAS_WEIGHT": bool(roles["weight"]),
        "KW_HAS_BIAS": bool(roles["bias"]),
        "KW_WEIGHT_OFFSET": f"{semantics['weight_offset']:.1f}f",
        "KW_CACHE_ROW": parameters["cache_row"],
    }
    eps = base.scalar_text(semantics["eps"])
    return base.render_module(NAME, facts, base.cpp_source(NAME, defines), SUMMARY + ".", eps=eps, **roles)
