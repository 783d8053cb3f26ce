"""activation(gate) * up with gate and up as halves of one input, or as two inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from kernelwright.search.templates import base
from kernelwright.search.templates.base import COMMON_SPACE, CPP_TYPES, Facts

NAME = "gated_activation"
FRAMEWORK = "cpp"
CATEGORY = "fusion"
SUMMARY = "activation and product fused in one pass over blocks of columns, exp by an explicit polynomial"
FAMILIES = ("gated_activation", "elementwise", None)
ADDRESSES = ("memory", "launch", "occupancy")  # bounds it acts on
PRECISION = "float64"
SPACE: dict[str, tuple[Any, ...]] = {**COMMON_SPACE, "block": (1024, 512, 4096)}

ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "sigmoid", "relu")


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    plain = not (facts.state or facts.mutates) and len(names) == len(facts.inputs) and len(outputs) == 1
    if not plain or len(names) not in (1, 2) or not base.single_dtype(facts, *names, *outputs):
        return
    if len({facts.dtype(name) for name in names}) > 1:
        return
    # halves: gate is the first or the second half of the one input
    pairs = [(names[0], names[0], False), (names[0], names[0], True)] if len(names) == 1 else []
    pairs += [(names[0], names[1], False), (names[1], names[0], False)] if len(names) == 2 else []
    for (gate, up, swapped), activation in product(pairs, ACTIVATIONS):
        yield {"gate": gate, "up": up, "swapped": swapped, "activation": activation, "out": outputs[0]}


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    from torch.nn import functional

    gate, up = inputs[semantics["gate"]], inputs[semantics["up"]]
    if semantics["gate"] == semantics["up"]:
        first, second = gate.chunk(2, dim=-1)
        gate, up = (second, first) if semantics["swapped"] else (first, second)
    activations: dict[str, Any] = {
        "silu": functional.silu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda values: functional.gelu(values, approximate="tanh"),
        "sigmoid": lambda values: values.sigmoid(),
        "relu": functional.relu,
    }
    return {semantics["out"]: activations[semantics["activation"]](gate) * up}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    dtypes = [facts.dtype(name) for name in (*facts.tensors(), *facts.outputs)]
    defines = {
        **base.common_defines(parameters, dtypes),
        "KW_X": CPP_TYPES[facts.dtype(semantics["gate"])],
        "KW_OUT": CPP_TYPES[facts.dtype(semantics["out"])],
        "KW_ACTIVATION": ACTIVATIONS.index(semantics["activation"]),
        "KW_BLOCK": parameters["block"],
    }
    names = {key: semantics[key] for key in ("gate", "up", "swapped", "out")}
    return base.render_module(NAME, facts, base.cpp_source(NAME, defines), SUMMARY + ".", **names)
