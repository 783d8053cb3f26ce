"""Every operator that comes with the project: its contract against what its code does."""

import json
from pathlib import Path

import pytest
import torch
from kernelwright import operators, specs
from kernelwright.operators.runtime import Runtime

NAMES = operators.available()
ANY_RANK = {"layer_norm"}  # its leading dimensions are declared as one axis


@pytest.fixture(scope="module", params=NAMES)
def operator(request: pytest.FixtureRequest) -> operators.Operator:
    return operators.load(operators.find(request.param))


def small_ids(operator: operators.Operator) -> list[str]:
    return [*operator.workload_ids("cpu"), *operator.edge_workloads]


def test_all_are_there() -> None:
    assert len(NAMES) >= 15


def test_folder_is_complete(operator: operators.Operator) -> None:
    assert {path.name for path in operator.directory.iterdir() if path.is_file()} >= {
        "reference.py", "input.py", "shapes.json", "operator.yaml", "README.md",
    }  # fmt: skip
    assert operator.family is not None
    assert set(operator.traffic) == {"read_bytes", "write_bytes", "flops"}
    assert 4 <= len(operator.workload_ids("cpu")) <= 10
    assert all(key.startswith("cpu_") for key in operator.workload_ids("cpu"))
    assert not any(key.startswith("cpu_") for key in operator.workload_ids("published"))
    assert operator.edge_workloads


def test_declared_facts_hold(operator: operators.Operator) -> None:
    """Names, order, dtypes, shapes, finiteness; only declared inputs are written; outputs alias as declared."""
    runtime = Runtime(operator)
    for key in small_ids(operator):
        workload = operator.workload(key)
        inputs = runtime.build_inputs(workload, 5, "cpu")
        before = {name: value.clone() for name, value in inputs.items()}
        outputs = runtime.reference(workload, "cpu")(**inputs)
        for declared, values in ((operator.inputs, inputs), (operator.outputs, outputs)):
            assert list(values) == list(declared)
            for name, value in values.items():
                check_tensor(operator, workload, name, declared[name], value)
        for name, value in inputs.items():
            same = torch.equal(value.view(torch.uint8), before[name].view(torch.uint8))
            assert same or name in operator.mutates, f"{key}: input {name} was written"
        for name, value in outputs.items():
            shared = [source for source, given in inputs.items() if value.data_ptr() == given.data_ptr()]
            assert shared == [operator.aliases[name]] if name in operator.aliases else not shared


def check_tensor(
    operator: operators.Operator, workload: operators.Workload, name: str, declared: dict, value: torch.Tensor
) -> None:
    shape = operator.shape_of(declared, operator.axis_values(workload), name)
    if operator.name in ANY_RANK:
        assert value.numel() == torch.Size(shape).numel()
    else:
        assert tuple(value.shape) == shape, f"{workload.id}: {name}"
    assert str(value.dtype).removeprefix("torch.") in declared["dtype"].split("|")
    assert value.is_contiguous()
    assert value.float().isfinite().all()


def test_mutated_inputs_do_change(operator: operators.Operator) -> None:
    runtime = Runtime(operator)
    workload = operator.workload(operator.workload_ids("cpu")[0])
    inputs = runtime.build_inputs(workload, 5, "cpu")
    before = {name: value.clone() for name, value in inputs.items()}
    runtime.reference(workload, "cpu")(**inputs)
    assert all(not torch.equal(inputs[name], before[name]) for name in operator.mutates)


def test_inputs_follow_the_seed(operator: operators.Operator) -> None:
    runtime = Runtime(operator)
    workload = operator.workload(operator.workload_ids("cpu")[1])
    first, again, other = (runtime.build_inputs(workload, seed, "cpu") for seed in (1, 1, 2))
    for name in first:
        assert torch.equal(first[name].view(torch.uint8), again[name].view(torch.uint8))
    assert any(not torch.equal(first[name].view(torch.uint8), other[name].view(torch.uint8)) for name in first)


def test_reference_in_float64_is_close(operator: operators.Operator) -> None:
    """The oracle runs the reference on wider inputs; it must agree with the declared dtype."""
    if operator.oracle != "float64":
        pytest.skip("rounding is part of this operator")
    from kernelwright.judge import precision

    runtime = Runtime(operator)
    workload = operator.workload(operator.workload_ids("cpu")[1])
    inputs = runtime.build_inputs(workload, 5, "cpu")
    wide = precision.promoted(inputs, torch.float64)
    with precision.in_float64():
        exact = runtime.reference(workload, "cpu")(**wide)
    rounded = runtime.reference(workload, "cpu")(**inputs)
    for name, value in rounded.items():
        assert exact[name].dtype is torch.float64 or not value.is_floating_point()
        torch.testing.assert_close(value.double(), exact[name].double(), rtol=2e-2, atol=2e-2)


def test_traffic_counts_no_more_than_the_tensors(operator: operators.Operator) -> None:
    for key in (*operator.workloads, *operator.edge_workloads):
        workload = operator.workload(key)
        declared = specs.declared_traffic(operator, workload)
        assert 0 < declared["read_bytes"] <= specs.inspection.declared_bytes(operator, workload)
        assert 0 < declared["write_bytes"] <= specs.inspection.declared_bytes(operator, workload, "outputs")
        assert declared["flops"] >= 0


def test_shape_ids_are_json_objects_on_one_line(operator: operators.Operator) -> None:
    path: Path = operator.directory / "shapes.json"
    assert len(path.read_text().splitlines()) == len(json.loads(path.read_text())) + 2
