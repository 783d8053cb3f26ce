"""Quantisation of groups of the last axis to 8-bit floats with one fp32 scale per group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from kernelwright.search.templates import base
from kernelwright.search.templates.base import COMMON_SPACE, CPP_TYPES, Facts

NAME = "group_quant"
FRAMEWORK = "cpp"
CATEGORY = "fusion"
SUMMARY = (
    "largest value, scale, division and rounding to 8 bits fused per group, on bits instead of a scalar conversion"
)
FAMILIES = ("group_quant", None)
ADDRESSES = ("memory", "launch", "compute", "occupancy")
PRECISION = "native"  # the rounding is the operator
SPACE: dict[str, tuple[Any, ...]] = {
    **{name: values for name, values in COMMON_SPACE.items() if name != "stream"},
    "reciprocal": (False, True),
}

FP8_MAX = {"float8_e4m3fn": 448.0}
USUAL_GROUPS = (128, 64, 32, 256)  # tried where no constructor argument says it
USUAL_EPS = (1e-10, 1e-12, 1e-8, 1e-6, 1e-5, 1e-4, 0.0)


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    plain = not (facts.state or facts.mutates) and len(names) == len(facts.inputs) == 1 and len(outputs) == 2
    if not plain or facts.inputs[names[0]]["rank"] != 2 or not base.single_dtype(facts, names[0]):
        return
    quantised = [name for name in outputs if facts.outputs[name]["dtype"] in FP8_MAX]
    scales = [name for name in outputs if facts.outputs[name]["dtype"] == "float32"]
    if len(quantised) != 1 or len(scales) != 1:
        return
    roles = {"x": names[0], "quantised": quantised[0], "scales": scales[0]}
    eps_choices = [{"init": name} for name in facts.init_of_type(float)] + [{"value": value} for value in USUAL_EPS]
    groups = [{"init": name} for name in facts.init_of_type(int)] + [{"value": value} for value in USUAL_GROUPS]
    for group, eps in product(groups, eps_choices):
        yield {**roles, "group": group, "eps": eps, "largest": FP8_MAX[facts.outputs[quantised[0]]["dtype"]]}


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    x, most = inputs[semantics["x"]], semantics["largest"]
    groups = x.float().view(x.shape[0], -1, int(base.scalar(semantics["group"], init)))
    scales = groups.abs().amax(-1, keepdim=True).clamp(min=base.scalar(semantics["eps"], init)) / most
    quantised = (groups / scales).clamp(-most, most).to(torch.float8_e4m3fn)
    return {semantics["quantised"]: quantised.view(x.shape), semantics["scales"]: scales.squeeze(-1)}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    dtype = facts.dtype(semantics["x"])
    defines = {
        **base.common_defines({**parameters, "stream": False}, [dtype]),
        "KW_X": CPP_TYPES[dtype],
        "KW_LARGEST": f"{semantics['largest']}f",
        "KW_RECIPROCAL": parameters["reciprocal"],
    }
    names = {key: semantics[key] for key in ("x", "quantised", "scales")}
    texts = {key: base.scalar_text(semantics[key]) for key in ("group", "eps")}
    return base.render_module(NAME, facts, base.cpp_source(NAME, defines), SUMMARY + ".", **texts, **names)
