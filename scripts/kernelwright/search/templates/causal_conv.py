"""Depthwise causal convolution along the last axis with a state of earlier values, bias and an optional SiLU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from kernelwright.search.templates import base
from kernelwright.search.templates.base import COMMON_SPACE, CPP_TYPES, Facts

NAME = "causal_conv"
FRAMEWORK = "cpp"
CATEGORY = "fusion"
SUMMARY = (
    "all taps, bias and activation in one pass; lanes run along time, or along channels when there are few time steps"
)
FAMILIES = ("causal_conv", None)
ADDRESSES = ("memory", "launch", "compute", "occupancy")
PRECISION = "float64"
SPACE: dict[str, tuple[Any, ...]] = {name: values for name, values in COMMON_SPACE.items() if name != "unroll"}


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    matrices = [name for name in names if facts.inputs[name]["rank"] == 2]
    vectors = [name for name in names if facts.inputs[name]["rank"] == 1]
    plain = not (facts.state or facts.mutates) and len(names) == len(facts.inputs) and len(outputs) == 1
    if not plain or len(matrices) != 3 or len(vectors) > 1 or not base.single_dtype(facts, *names, *outputs):
        return
    if len({facts.dtype(name) for name in names}) > 1:
        return
    bias = vectors[0] if vectors else None
    orders = [(0, 1, 2), (0, 2, 1)]  # x first; then weight and state in either order
    activations = [{"init": name} for name in facts.init_of_type(str, type(None))] + [
        {"value": "silu"},
        {"value": None},
    ]
    for order, activation in product(orders, activations):
        x, weight, state = (matrices[index] for index in order)
        yield {"x": x, "weight": weight, "state": state, "bias": bias, "out": outputs[0], "activation": activation}


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    import torch
    from torch.nn import functional

    x, weight = inputs[semantics["x"]], inputs[semantics["weight"]]
    bias = inputs[semantics["bias"]] if semantics["bias"] else None
    history = torch.cat([inputs[semantics["state"]], x], dim=1)
    out = functional.conv1d(history[None], weight[:, None, :], bias, groups=x.shape[0])[0]
    where = semantics["activation"]
    activation = where["value"] if "value" in where else init.get(where["init"])
    if activation not in ("silu", None):
        raise ValueError(f"activation {activation!r}")
    return {semantics["out"]: functional.silu(out) if activation == "silu" else out}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    dtypes = [facts.dtype(semantics["x"]), facts.dtype(semantics["out"])]
    defines = {
        **base.common_defines({**parameters, "unroll": 1}, dtypes),
        "KW_X": CPP_TYPES[dtypes[0]],
        "KW_OUT": CPP_TYPES[dtypes[1]],
    }
    where = semantics["activation"]
    silu = str(int(where["value"] == "silu")) if "value" in where else f'1 if self.{where["init"]} == "silu" else 0'
    names = {key: semantics[key] for key in ("x", "weight", "state", "bias", "out")}
    return base.render_module(NAME, facts, base.cpp_source(NAME, defines), SUMMARY + ".", silu=silu, **names)
