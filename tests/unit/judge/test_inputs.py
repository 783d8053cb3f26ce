from __future__ import annotations

import torch
from kernelwright.judge.arena import Arena, plan, store
from kernelwright.judge.inputs import InputSets, refresh, stacked

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


def rows_of(sets: InputSets) -> list[tuple[float, ...]]:
    return sorted(tuple(row.tolist()) for specs in sets.specs for row in sets.arena.values(specs)["x"])


def test_refresh_changes_every_set_and_keeps_the_domain() -> None:
    sets = make(6)
    before = [{k: v.clone() for k, v in sets.arena.values(s).items() if k != "eps"} for s in sets.specs]
    rows = rows_of(sets)
    refresh(sets, DECLARED)
    assert rows_of(sets) == rows
    for specs, old in zip(sets.specs, before, strict=True):
        new = sets.arena.values(specs)
        assert not torch.equal(new["x"], old["x"]) and not torch.equal(new["w"], old["w"])
    index_sets = sorted(tuple(sets.arena.values(s)["ids"].tolist()) for s in sets.specs)
    assert index_sets == sorted((n, n + 1, n + 2, n + 3) for n in range(6))


def test_a_single_set_changes_too() -> None:
    sets = make(1)
    before = sets.arena.values(sets.specs[0])["x"].clone()
    refresh(sets, DECLARED)
    after = sets.arena.values(sets.specs[0])["x"]
    assert not torch.equal(before, after)
    assert torch.equal(torch.sort(before, 0).values, torch.sort(after, 0).values)


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
