"""activation(x @ weight + bias), optionally times or plus another tensor, in one Triton matrix product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any

from kernelwright.search.templates import base, triton_base
from kernelwright.search.templates.base import Facts

NAME = "triton_linear"
FRAMEWORK = triton_base.FRAMEWORK
CATEGORY = "fusion"
SUMMARY = (
    "bias, activation and the second tensor are applied to each tile of the product while it is still in registers"
)
FAMILIES = ("matmul", "linear", None)
ADDRESSES = ("compute", "memory", "launch", "occupancy")
PRECISION = "float64"
# A tile is rows x columns x depth of a step, warps and loads ahead; the second kind serves few rows.
SPACE: dict[str, tuple[Any, ...]] = {
    "tile": (
        "128x256x64/8/3", "128x256x64/8/4", "128x128x64/8/3", "256x128x64/8/3", "64x256x64/4/4", "128x128x64/4/4",
    ),
    "narrow_tile": ("64x32x128/4/4", "16x16x256/4/3", "16x32x128/4/4", "64x64x128/4/4", "16x16x512/4/3", "64x16x256/4/4"),
    "few": ("4x512/4/1", "8x512/4/1", "8x1024/8/1", "16x256/4/1", "4x1024/4/1", "16x512/8/1"),  # columns x depth, up to 4 rows
    "descriptors": (True, False),  # tiles come by the bulk copy engine, where addresses and strides allow it
    "persistent": (True, False),
    "group": (16, 8, 4),  # row blocks that share columns of the weight in the cache
}  # fmt: skip

ACTIVATIONS = ("sigmoid", "silu", "gelu", "gelu_tanh", "relu", "none")
COMBINE = ("mul", "add")
TYPES = ("bfloat16", "float16")


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    matrices = [name for name in names if facts.inputs[name]["rank"] >= 2]
    vectors = [name for name in names if facts.inputs[name]["rank"] == 1]
    plain = not (facts.state or facts.mutates) and len(names) == len(facts.inputs) and len(outputs) == 1
    if not plain or len(matrices) not in (2, 3) or len(vectors) > 1:
        return
    if len({facts.dtype(name) for name in names}) > 1 or facts.dtype(names[0]) not in TYPES:
        return
    if not base.single_dtype(facts, *outputs):
        return
    bias = vectors[0] if vectors else None
    for order in permutations(matrices):
        x, weight = order[:2]
        other = order[2] if len(order) > 2 else None
        ranks = {facts.inputs[name]["rank"] for name in (x, other) if name}
        if facts.inputs[weight]["rank"] != 2 or ranks != {facts.outputs[outputs[0]]["rank"]}:
            continue
        for transposed, activation, how in product((True, False), ACTIVATIONS, COMBINE if other else (None,)):
            yield {
                "x": x, "weight": weight, "bias": bias, "other": other, "out": outputs[0],
                "transposed": transposed, "activation": activation, "combine": how,
            }  # fmt: skip


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    from torch.nn import functional

    weight = inputs[semantics["weight"]]
    values = inputs[semantics["x"]] @ (weight.T if semantics["transposed"] else weight)
    if semantics["bias"]:
        values = values + inputs[semantics["bias"]]
    activations: dict[str, Any] = {
        "silu": functional.silu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda given: functional.gelu(given, approximate="tanh"),
        "sigmoid": lambda given: given.sigmoid(),
        "relu": functional.relu,
        "none": lambda given: given,
    }
    values = activations[semantics["activation"]](values)
    if semantics["other"]:
        other = inputs[semantics["other"]]
        values = values * other if semantics["combine"] == "mul" else values + other
    return {semantics["out"]: values}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    tiles = {key: triton_base.tile(parameters[key]) for key in ("tile", "narrow_tile")}
    few = triton_base.tile(parameters["few"])
    return triton_base.render("linear", facts, SUMMARY + ".", parameters, semantics, tiles=tiles, few=few)
