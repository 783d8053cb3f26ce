from __future__ import annotations

import pytest
import torch
from kernelwright.judge.arena import Arena, plan, store
from kernelwright.judge.changing import EXPONENTS, LOW_BITS, Changes, has_special, is_generic, stacked
from kernelwright.judge.inputs import InputSets

DECLARED = {"x": {}, "ids": {"index": True}}


def make(count: int, rows: int = 5) -> InputSets:
    specs, end, values = [], 0, []
    for number in range(count):
        inputs = {
            "x": torch.randn(rows, 3),
            "w": torch.randn(7).bfloat16(),
            "ids": torch.arange(4) + number,
            "eps": 0.1,
        }
        spec, end = plan(inputs, end)
        specs.append(spec)
        values.append(inputs)
    arena = Arena(end)
    for spec, inputs in zip(specs, values, strict=True):
        store(arena, spec, inputs)
    return InputSets(0, arena, specs, ["w"] * count)


def values(sets: InputSets, name: str) -> list[torch.Tensor]:
    return [sets.arena.values(specs)[name].clone() for specs in sets.specs]


def coarse(tensors: list[torch.Tensor]) -> list[tuple[int, ...]]:
    """Rows without the bits that are turned, sorted."""
    return sorted(tuple(row.tolist()) for item in tensors for row in item.view(torch.int32) & ~LOW_BITS["float32"])


def test_new_values_are_near_old_ones_and_none_is_seen_again() -> None:
    sets = make(6)
    before = {name: values(sets, name) for name in ("x", "w", "ids")}
    seen = {value for item in before["x"] for value in item.flatten().tolist()}
    changes = Changes(sets, DECLARED)
    for _ in range(3):
        changes.turn()
        found = {value for item in values(sets, "x") for value in item.flatten().tolist()}
        assert not found & seen
        seen |= found
        assert coarse(values(sets, "x")) == coarse(before["x"])
    assert all(not torch.equal(new, old) for new, old in zip(values(sets, "w"), before["w"], strict=True))
    ids = sorted(tuple(item.tolist()) for item in values(sets, "ids"))
    assert ids == sorted((n, n + 1, n + 2, n + 3) for n in range(6))


def test_a_single_set_changes_too() -> None:
    sets = make(1)
    before = values(sets, "x")
    Changes(sets, DECLARED).turn()
    assert not torch.equal(before[0], values(sets, "x")[0])
    assert coarse(values(sets, "x")) == coarse(before)


def test_an_echo_changes_few_elements_in_place() -> None:
    sets = make(4, rows=400)
    changes = Changes(sets, DECLARED)
    seen = set()
    for _ in range(40):
        before = {name: values(sets, name) for name in ("x", "w")}
        assert changes.echo()
        shares = [
            (torch.stack(values(sets, name)) != torch.stack(old)).double().mean().item() for name, old in before.items()
        ]
        assert shares[0] < 0.15
        seen.add((shares[0] > 0, shares[1] > 0))
    assert (True, False) in seen and len(seen) > 1


def test_special_values_stay_and_whole_numbers_are_left_alone() -> None:
    sets = make(2)
    for specs in sets.specs:
        x = sets.arena.values(specs)["x"]
        x[0] = torch.tensor([0.0, float("inf"), float("-inf")])
        sets.arena.values(specs)["w"].copy_(torch.arange(7))
    Changes(sets, DECLARED).turn()
    for x in values(sets, "x"):
        assert (x == 0).sum() == 1 and torch.isinf(x).sum() == 2
    assert all(sorted(w.tolist()) == list(range(7)) for w in values(sets, "w"))


@pytest.mark.parametrize("dtype", sorted(LOW_BITS))
def test_turned_values_stay_finite_and_in_their_binade(dtype: str) -> None:
    size = getattr(torch, dtype).itemsize
    value = torch.rand(100).add_(0.5).to(getattr(torch, dtype))
    bits = value.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size])
    assert is_generic(value, dtype) and not has_special(value, dtype)
    turned = (bits ^ LOW_BITS[dtype]).view(value.dtype).double()
    assert ((turned / value.double()).log().abs() < 0.13).all()
    assert not bits.any() or EXPONENTS[dtype] & LOW_BITS[dtype] == 0


def test_sets_of_one_layout_are_seen_as_one_tensor() -> None:
    sets = make(4)
    view = stacked(sets, 0)
    assert isinstance(view, torch.Tensor) and view.shape == (4, 5, 3)
    for number, specs in enumerate(sets.specs):
        assert torch.equal(view[number].view(torch.float32), sets.arena.values(specs)["x"])


def test_extent_covers_the_guards_and_no_other_set() -> None:
    sets = make(3)
    for number in range(2):
        assert sets.extent(number)[1] <= sets.extent(number + 1)[0] + 64
    assert sets.extent(0)[0] >= 0 and sets.extent(2)[1] <= sets.arena.size
