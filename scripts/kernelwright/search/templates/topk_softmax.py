"""The largest `top_k` softmax weights of each row and their columns, optionally renormalised to a sum of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from kernelwright.search.templates import base
from kernelwright.search.templates.base import COMMON_SPACE, CPP_TYPES, Facts

NAME = "topk_softmax"
FRAMEWORK = "cpp"
CATEGORY = "fusion"
SUMMARY = (
    "softmax and selection fused per row: the row stays in a scratch of fp32, the k largest are picked by vector scans"
)
FAMILIES = ("topk_softmax", None)
ADDRESSES = ("memory", "launch", "compute", "occupancy")
PRECISION = "native"  # in another precision other columns may win ties
SPACE: dict[str, tuple[Any, ...]] = {
    **{name: values for name, values in COMMON_SPACE.items() if name not in ("stream", "huge_pages", "unroll")},
    "parallel_bytes": (8192, 16384, 32768, 65536, 131072),
}

USUAL_TOP_K = (1, 2, 4, 6, 8, 10, 16)  # tried where no constructor argument says it
INDEX_TYPES = {"int32": "int32_t", "int64": "int64_t"}


def hypotheses(facts: Facts) -> Iterator[dict[str, Any]]:
    names, outputs = facts.tensors(), list(facts.outputs)
    plain = not (facts.state or facts.mutates) and len(names) == len(facts.inputs) == 1 and len(outputs) == 2
    if not plain or not base.single_dtype(facts, names[0]):
        return
    weights = [name for name in outputs if facts.outputs[name]["dtype"] == "float32"]
    ids = [name for name in outputs if facts.outputs[name]["dtype"] in INDEX_TYPES]
    if len(weights) != 1 or len(ids) != 1:
        return
    counts = [{"init": name} for name in facts.init_names()] + [{"value": value} for value in USUAL_TOP_K]
    for top_k, renormalise in product(counts, (False, True)):
        yield {"x": names[0], "weights": weights[0], "ids": ids[0], "top_k": top_k, "renormalise": renormalise}


def formula(semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    weights = torch.softmax(inputs[semantics["x"]].float(), dim=-1)
    values, ids = torch.topk(weights, int(base.scalar(semantics["top_k"], init)), dim=-1)
    if semantics["renormalise"]:
        values = values / values.sum(dim=-1, keepdim=True)
    return {semantics["weights"]: values, semantics["ids"]: ids}


def render(facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    dtype = facts.dtype(semantics["x"])
    full = {**parameters, "stream": False, "huge_pages": False, "unroll": 1}
    defines = {
        **base.common_defines(full, [dtype]),
        "KW_X": CPP_TYPES[dtype],
        "KW_INDEX": INDEX_TYPES[facts.outputs[semantics["ids"]]["dtype"]],
        "KW_RENORMALISE": semantics["renormalise"],
    }
    names = {key: semantics[key] for key in ("x", "weights", "ids")}
    top_k = base.scalar_text(semantics["top_k"])
    return base.render_module(NAME, facts, base.cpp_source(NAME, defines), SUMMARY + ".", top_k=top_k, **names)
