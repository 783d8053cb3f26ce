"""The Triton templates: recognised by the same readings, rendered for every parameter, right where Triton can run."""

from __future__ import annotations

import ast
import copy
import json
import os
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import made_up
import pytest
from kernelwright import operators
from kernelwright.frameworks import triton as framework
from kernelwright.search import recognise, space, templates
from kernelwright.search.templates import triton_base
from kernelwright.search.templates.base import Facts

SERVED = {
    "rms_norm": "triton_row_norm",
    "fused_add_rms_norm": "triton_row_norm",
    "layer_norm": "triton_row_norm",
    "l2_norm": "triton_row_norm",
    "silu_and_mul": "triton_gated_activation",
    "moe_sum_reduce": "triton_row_reduction",
    "moe_topk_gating_softmax": "triton_topk_softmax",
    "per_token_group_quant_fp8": "triton_group_quant",
    "mrope": "triton_rotary",
    "reshape_and_cache": "triton_scatter",
    "causal_conv1d": "triton_causal_conv",
    "linear_sigmoid_mul": "triton_linear",
    "block_scaled_mm": "triton_scaled_matmul",
    "attention_forward": "triton_attention",
    "paged_attention_decode": "triton_paged_decode",
}
# Two 16-bit roundings at most; the interpreter's rounding to 8 bits is two steps of 1/14 off at worst.
LIMITS = {"per_token_group_quant_fp8": 1 / 6.9}
ALLOCATIONS = {"empty", "empty_strided"}
INTERPRETER = Path(__file__).parent / "interpreted.py"


@pytest.fixture(scope="module")
def seen(seen_in):
    """Operator name -> (operator, facts, reading)."""
    return partial(seen_in, "triton")


def rendered(seen, name):
    _, facts, match = seen(name)
    template = templates.get(match["template"])
    default = space.defaults(template.SPACE)
    for parameters in [default, *space.neighbours(template.SPACE, default)]:
        yield facts, template.render(facts, match["semantics"], parameters)


@pytest.mark.parametrize("name", SERVED)
def test_the_operator_is_recognised_by_its_numbers(name, seen):
    _, facts, match = seen(name)
    assert (facts.operator, match["template"]) == (name, SERVED[name])
    assert match["error"] <= recognise.LIMIT


@pytest.mark.parametrize("name", SERVED)
def test_every_parameter_value_renders_a_self_contained_file(name, seen):
    for facts, text in rendered(seen, name):
        tree = ast.parse(text)
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert modules <= {"torch", "triton", "triton.language", "triton.tools.tensor_descriptor"}
        assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == [facts.entry]
        assert framework.own_kernels(text)


@pytest.mark.parametrize("name", SERVED)
def test_torch_only_allocates(name, seen):
    for _, text in rendered(seen, name):
        called = {
            ast.unparse(node.func).removeprefix("torch.")
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("torch.")
        }
        assert called <= ALLOCATIONS | {"cuda.get_device_properties"}
        assert "autotune" not in text and "synchronize" not in text


def test_readings_are_those_of_the_cpp_templates():
    for name in templates.names():
        template = templates.get(name)
        if template.FRAMEWORK == "triton" and name.removeprefix("triton_") in templates.names():
            other = templates.get(name.removeprefix("triton_"))
            assert (template.hypotheses, template.formula) == (other.hypotheses, other.formula)


def test_a_tile_is_read_from_its_text():
    assert triton_base.tile("128x64x32/8/3") == {"rows": 128, "columns": 64, "depth": 32, "warps": 8, "stages": 3}
    assert triton_base.tile("64x32/4/2") == {"rows": 64, "columns": 32, "warps": 4, "stages": 2}


def test_an_output_of_the_inputs_dtype_follows_it(seen):
    _, facts, _ = seen("rms_norm")
    assert triton_base.dtype_text(facts, "out", "x") == "x.dtype"
    _, facts, _ = seen("block_scaled_mm")
    assert triton_base.dtype_text(facts, "out", "a") == "torch.float32"


def test_a_function_entry_is_a_function(seen):
    _, facts, match = seen("silu_and_mul")
    body = {**facts.to_json(), "layout": "sol_execbench", "entry": "run"}
    template = templates.get(match["template"])
    text = template.render(Facts.from_json(body), match["semantics"], space.defaults(template.SPACE))
    assert [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)][-1] == "run"


@pytest.mark.parametrize("name", made_up.MADE)
def test_other_operators_of_the_families_are_recognised(name, tmp_path):
    operator = operators.load(made_up.write(name, tmp_path))
    (match,) = recognise.recognise(operator, "triton")["matches"]
    assert {**match["semantics"], "template": match["template"]}.items() >= made_up.MADE[name].expected.items()


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    """Operator -> [parameters, workload, difference or error], from Triton's interpreter in a process of its own."""
    if find_spec("triton") is None:
        pytest.skip("triton is missing: pip install triton")
    folder = tmp_path_factory.mktemp("interpreted")
    output, others = folder / "found.json", [str(made_up.write(name, folder)) for name in made_up.MADE]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, str(INTERPRETER), str(output), *SERVED, *others], env=environment, check=True, timeout=900
    )
    return {Path(name).name: rows for name, rows in json.loads(output.read_text()).items()}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [*SERVED, *made_up.MADE])
def test_interpreted_kernels_are_right(name, interpreted):
    assert interpreted[name]
    for parameters, workload, difference in interpreted[name]:
        assert not isinstance(difference, str), (workload, parameters, difference)
        assert difference <= LIMITS.get(name, 1 / 100), (workload, parameters)


@pytest.mark.gpu
@pytest.mark.parametrize("name", SERVED)
def test_kernels_are_right_on_the_gpu(name, seen, tmp_path):
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    from kernelwright.operators.runtime import Runtime, import_file

    operator, facts, match = seen(name)
    template, runtime = templates.get(match["template"]), Runtime(operator)
    for choice in (0, -1):
        parameters = {key: values[choice] for key, values in template.SPACE.items()}
        path = tmp_path / f"kernel_{choice}.py"
        path.write_text(template.render(facts, match["semantics"], parameters))
        module = import_file(path, f"_gpu_{name}_{choice + 1}")
        for workload in [*operator.edge_workloads.values(), *map(operator.workload, operator.workload_ids("cpu"))]:
            inputs = runtime.build_inputs(workload, seed=5, device="cuda")
            wanted = runtime.reference(workload, "cuda")(**copy.deepcopy(inputs))
            given = runtime.candidate(module, workload, "cuda")(**copy.deepcopy(inputs))
            for output, want in wanted.items():
                largest = max(float(want.double().abs().max()), 1e-30)
                off = float((given[output].double() - want.double()).abs().max()) / largest
                assert off <= LIMITS.get(name, 1 / 100), (workload.id, parameters, output)
