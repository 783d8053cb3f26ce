"""Each operator of the project that has a template: recognised, compiled and right on its edge workloads."""

from __future__ import annotations

import ast
import copy
from functools import partial

import pytest
from kernelwright.frameworks.cpp import availability
from kernelwright.paths import search_path
from kernelwright.search import recognise, space, templates
from kernelwright.search.templates.base import Facts

SERVED = {
    "rms_norm": "row_norm",
    "fused_add_rms_norm": "row_norm",
    "layer_norm": "row_norm",
    "l2_norm": "row_norm",
    "silu_and_mul": "gated_activation",
    "moe_sum_reduce": "row_reduction",
    "moe_topk_gating_softmax": "topk_softmax",
    "per_token_group_quant_fp8": "group_quant",
    "mrope": "rotary",
    "reshape_and_cache": "scatter",
    "causal_conv1d": "causal_conv",
}
USABLE, WHY = availability()
needs_compiler = pytest.mark.skipif(not USABLE, reason=WHY)


@pytest.fixture(scope="module")
def seen(seen_in):
    """Operator name -> (operator, facts, reading)."""
    return partial(seen_in, "cpp")


def build(text, monkeypatch, tmp_path_factory):
    from kernelwright.operators.runtime import import_file

    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path_factory.getbasetemp() / "extensions"))
    monkeypatch.setenv("PATH", search_path())
    path = tmp_path_factory.mktemp("kernel") / "kernel.py"
    path.write_text(text)
    return import_file(path, f"_rendered_{abs(hash(text)):x}")


def worst_difference(operator, module, workload):
    """Largest difference from the reference over outputs, in units of the reference's largest value."""
    from kernelwright.operators.runtime import Runtime

    runtime = Runtime(operator)
    inputs = runtime.build_inputs(workload, seed=7, device="cpu")
    expected = runtime.reference(workload, "cpu")(**copy.deepcopy(inputs))
    given = runtime.candidate(module, workload, "cpu")(**copy.deepcopy(inputs))
    assert list(given) == list(expected)
    worst = 0.0
    for name, wanted in expected.items():
        found = given[name]
        assert (found.dtype, found.shape, found.stride()) == (wanted.dtype, wanted.shape, wanted.stride())
        scale = max(float(wanted.double().abs().max()), 1e-30)
        worst = max(worst, float((found.double() - wanted.double()).abs().max()) / scale)
    return worst


@pytest.mark.parametrize("name", SERVED)
def test_the_operator_is_recognised_by_its_numbers(name, seen):
    _, facts, match = seen(name)
    assert match["template"] == SERVED[name]
    assert match["error"] <= recognise.LIMIT
    assert facts.operator == name


@pytest.mark.parametrize("name", SERVED)
def test_every_parameter_value_renders_a_self_contained_file(name, seen):
    _, facts, match = seen(name)
    template = templates.get(match["template"])
    default = space.defaults(template.SPACE)
    for parameters in [default, *space.neighbours(template.SPACE, default)]:
        tree = ast.parse(template.render(facts, match["semantics"], parameters))
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert modules == {"torch", "torch.utils.cpp_extension"}
        assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == [facts.entry]


@needs_compiler
@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize("choice", [0, -1], ids=["defaults", "last_values"])
def test_the_kernel_is_right_on_edge_workloads(name, choice, seen, monkeypatch, tmp_path_factory):
    operator, facts, match = seen(name)
    template = templates.get(match["template"])
    parameters = {key: values[choice] for key, values in template.SPACE.items()}
    # a small threshold, so that both the serial and the parallel path run
    parameters["parallel_bytes"] = 4096 if choice else parameters["parallel_bytes"]
    module = build(template.render(facts, match["semantics"], parameters), monkeypatch, tmp_path_factory)
    # multiplying by the inverse of a scale may move a value at a rounding edge by one 8-bit step: 32 of 448
    limit = 1 / 14 if parameters.get("reciprocal") else 1 / 128
    assert operator.edge_workloads
    for workload in operator.edge_workloads.values():
        assert worst_difference(operator, module, workload) <= limit, workload.id


@needs_compiler
def test_nan_infinity_and_strided_rows_go_through(seen, monkeypatch, tmp_path_factory):
    import torch

    _, facts, match = seen("rms_norm")
    template = templates.get("row_norm")
    text = template.render(facts, match["semantics"], space.defaults(template.SPACE))
    model = build(text, monkeypatch, tmp_path_factory).Model(eps=1e-6)
    wide = torch.randn(5, 300).bfloat16()
    wide[1, 13], wide[2, 15] = float("nan"), float("inf")
    x, weight = wide[:, 7:138], torch.ones(131).bfloat16()
    out = model(x, weight)
    assert out.isnan().any(dim=1).tolist() == [False, True, True, False, False]
    assert torch.equal(model(x[3:], weight), model(x[3:].contiguous(), weight))
    with pytest.raises(TypeError, match="expected CPU tensors: x bfloat16"):
        model(x.float(), weight)


@needs_compiler
def test_float16_and_float32_kernels_are_right(seen, monkeypatch, tmp_path_factory):
    import torch

    _, facts, match = seen("silu_and_mul")
    template = templates.get("gated_activation")
    for dtype, limit in (("float16", 1e-3), ("float32", 1e-6)):
        body = facts.to_json()
        body["inputs"]["x"]["dtype"] = body["outputs"]["out"]["dtype"] = dtype
        text = template.render(Facts.from_json(body), match["semantics"], space.defaults(template.SPACE))
        x = torch.randn(7, 2 * 131, dtype=getattr(torch, dtype)) * 4
        gate, up = x.double().chunk(2, dim=-1)
        wanted = gate * gate.sigmoid() * up
        given = build(text, monkeypatch, tmp_path_factory).Model()(x)
        assert float((given.double() - wanted).abs().max() / wanted.abs().max()) <= limit


def test_unknown_names_and_families_offer_nothing():
    assert templates.for_family("attention", "cpp") == []
    assert templates.for_family("row_norm", "cutedsl") == []
    with pytest.raises(KeyError, match="row_norm"):
        templates.get("no_such_template")
