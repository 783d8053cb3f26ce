"""The dispatcher's choice equals buckets.match, its state reaches every kernel, its source is self-contained."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

import pytest
import torch
from kernelwright import buckets
from kernelwright.dispatcher import emit
from kernelwright.dispatcher.merge import Kernel
from kernelwright.operators.inspection import argument, bytes_of

KERNEL = """import torch
from torch import nn

TAG = "{tag}"


class Model(nn.Module):
    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))
        self.register_buffer("steps", torch.zeros(1))
        self.inner = nn.Linear(2, 2)

    def forward(self, x, y, flag=None, count=1):
        return TAG
"""
NO_WEIGHTS = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, {order}):\n        return '{tag}', {order}\n"


def load(text: str) -> ModuleType:
    module = ModuleType("dispatcher_under_test")
    exec(compile(text, "kernel.py", "exec"), module.__dict__)
    return module


def bucket(index: int, key: str | None, low: int, high: int | None) -> dict[str, Any]:
    rule = {"layout_key": key, "min_input_bytes": low, "max_input_bytes": high}
    return {"id": f"b{index:02d}", "label": f"set {index}", "workloads": [f"w{index}"], "rule": rule}


def signature(arguments: dict[str, Any]) -> dict[str, Any]:
    args = {name: argument(value) for name, value in arguments.items()}
    return {"init": {}, "args": args, "input_bytes": sum(map(bytes_of, args.values()))}


def plan_of(
    rules: list[dict[str, Any]], texts: list[str], kinds: dict[str, str], positional: bool = False
) -> emit.Plan:
    kernels = tuple(Kernel(f"{rule['id']}_v001", text) for rule, text in zip(rules, texts, strict=True))
    kernel_of = {rule["id"]: kernel.label for rule, kernel in zip(rules, kernels, strict=True)}
    return emit.Plan("Model", kernels, tuple(rules), kernel_of, kinds, positional)


def random_call(generator: random.Random) -> dict[str, Any]:
    rows, columns = generator.choice([1, 4, 33]), generator.choice([8, 32, 100])
    dtype = generator.choice([torch.float32, torch.bfloat16])
    x = torch.empty(rows, columns, dtype=dtype)
    y = torch.empty(columns, rows, dtype=dtype).t() if generator.random() < 0.4 else torch.empty(columns)
    flag = generator.choice([None, True, False, "mean", 2.5, 3, float("inf"), (1, 2), torch.empty(3)])
    return {"x": x, "y": y, "flag": flag, "count": generator.choice([1, 2, 1.0])}


def test_choice_equals_buckets_match_on_random_signatures() -> None:
    generator = random.Random(7)
    calls = [random_call(generator) for _ in range(400)]
    keys = generator.sample(sorted({buckets.layout_key(signature(call)) for call in calls}), 9)
    rules = []
    for key in keys:
        edge = generator.choice([200, 900, 4000])
        rules += [bucket(len(rules), key, 0, edge), bucket(len(rules) + 1, key, edge, None)]
    for any_key in (False, True):
        given = rules + ([bucket(len(rules), None, 0, None)] if any_key else [])
        texts = [KERNEL.format(tag=rule["id"]) for rule in given]
        kinds = {"x": "tensor", "y": "tensor", "flag": "any", "count": "any"}
        model = load(emit.dispatcher(plan_of(given, texts, kinds))).Model(width=2)
        found = [model(**call) for call in calls * 2]  # the second time from memory
        assert found == [buckets.match(signature(call), given) for call in calls * 2]
        assert len(set(found)) > 9


def two_kernels() -> Any:
    rules = [bucket(0, None, 0, 64), bucket(1, None, 64, None)]
    texts = [KERNEL.format(tag=rule["id"]) for rule in rules]
    kinds = {"x": "tensor", "y": "tensor"}
    return load(emit.dispatcher(plan_of(rules, texts, kinds))).Model(3)


def test_state_is_the_first_kernels_and_reaches_all() -> None:
    model = two_kernels()
    assert set(model.state_dict()) == {"weight", "steps", "inner.weight", "inner.bias"}
    state = {key: torch.full_like(value, 5.0) for key, value in model.state_dict().items()}
    model.load_state_dict(state)
    model.to(torch.float64)
    for kernel in model._kernels:
        for value in kernel.state_dict().values():
            assert value.dtype == torch.float64
            assert bool((value == 5).all())
    with torch.no_grad():
        model.weight.fill_(7)
    assert model._kernels[1].weight[0] == 7
    assert not model.eval()._kernels[1].training


def test_calls_by_name_survive_another_order_of_parameters() -> None:
    rules = [bucket(0, None, 0, 64), bucket(1, None, 64, None)]
    texts = [NO_WEIGHTS.format(tag="a", order="x, y"), NO_WEIGHTS.format(tag="b", order="y, x")]
    model = load(emit.dispatcher(plan_of(rules, texts, {"x": "tensor", "y": "tensor"}))).Model()
    x, y = torch.empty(100), torch.empty(1)
    tag, first, second = model(x, y)
    assert (tag, first is y, second is x) == ("b", True, True)


def test_positional_names_are_bound_in_order() -> None:
    rules = [bucket(0, "arg0:float32:1:c;arg1:float32:1:c", 0, 64), bucket(1, None, 0, None)]
    texts = [NO_WEIGHTS.format(tag="a", order="p, q"), NO_WEIGHTS.format(tag="b", order="r, s")]
    plan = plan_of(rules, texts, {"arg0": "tensor", "arg1": "tensor"}, positional=True)
    model = load(emit.dispatcher(plan)).Model()
    assert model(torch.empty(2), torch.empty(1))[0] == "a"
    assert model(torch.empty(2, 2), torch.empty(1))[0] == "b"


def test_function_entry() -> None:
    rules = [bucket(0, None, 0, 64), bucket(1, None, 64, None)]
    texts = [f"SIDE = '{tag}'\n\ndef run(x):\n    return SIDE\n" for tag in "ab"]
    plan = plan_of(rules, texts, {"x": "tensor"})
    run = load(emit.dispatcher(emit.Plan("run", *list(vars(plan).values())[1:]))).run
    assert [run(torch.empty(1)), run(torch.empty(100)), run(x=torch.empty(1))] == ["a", "b", "a"]


def test_a_shadowed_torch_does_not_reach_the_choice() -> None:
    rules = [bucket(0, None, 0, 64), bucket(1, None, 64, None)]
    shadow = "import torch as t\ntorch = 'mine'\n\n\nclass Model(t.nn.Module):\n"
    shadow += "    def forward(self, x):\n        return torch\n"
    model = load(emit.dispatcher(plan_of(rules, [shadow, shadow.replace("mine", "other")], {"x": "tensor"}))).Model()
    assert [model(torch.empty(1)), model(torch.empty(99))] == ["mine", "other"]


def test_entry_without_the_argument_is_refused() -> None:
    rules = [bucket(0, None, 0, None)]
    with pytest.raises(emit.MergeError, match="does not take the argument 'z'"):
        emit.dispatcher(plan_of(rules, [NO_WEIGHTS.format(tag="a", order="x, y")], {"z": "tensor"}))
