from __future__ import annotations

import pytest
import torch
from kernelwright.judge.arena import GUARD_BYTES, Arena, clone, paint_guards, plan, span_elements, store


def test_values_survive_with_strides_dtypes_and_scalars() -> None:
    wide = torch.randn(4, 12)
    values = {
        "strided": wide[:, ::3],
        "bf16": torch.randn(5).bfloat16(),
        "flag": torch.tensor([True, False]),
        "fp8": torch.randn(3).to(torch.float8_e4m3fn),
        "empty": torch.empty(0, 3),
        "point": torch.tensor(2.5),
        "eps": 1e-6,
        "shape": (2, 3),
    }
    specs, end = plan(values)
    arena = Arena(end)
    store(arena, specs, values)
    found = arena.values(specs)
    assert found["strided"].stride() == (12, 3)
    assert found["eps"] == 1e-6 and found["shape"] == [2, 3]
    for name in ("strided", "bf16", "flag", "empty", "point"):
        assert torch.equal(found[name], values[name]), name
    assert torch.equal(found["fp8"].view(torch.uint8), values["fp8"].view(torch.uint8))


def test_a_view_has_a_storage_of_its_own_length() -> None:
    specs, end = plan({"a": torch.ones(4), "b": torch.ones(6)})
    view = Arena(end).view(specs[1])
    assert view.storage_offset() == 0
    assert view.untyped_storage().nbytes() == 24
    assert view.data_ptr() % 64 == 0


def test_another_mapping_of_the_descriptor_sees_writes() -> None:
    import os

    specs, end = plan({"a": torch.zeros(4)})
    arena = Arena(end)
    other = Arena(end, os.dup(arena.fd))
    other.view(specs[0]).fill_(7)
    assert torch.equal(arena.view(specs[0]), torch.full((4,), 7.0))


def test_guards_lie_on_both_sides_and_do_not_touch_the_tensor() -> None:
    values = {"a": torch.arange(5.0), "b": torch.arange(3.0)}
    specs, end = plan(values)
    arena = Arena(end)
    store(arena, specs, values)
    paint_guards(arena, specs, torch.full((GUARD_BYTES,), 0xAB, dtype=torch.uint8))
    for spec in specs:
        start, stop = spec["offset"], spec["offset"] + spec["span"]
        assert (arena.bytes[start - GUARD_BYTES : start] == 0xAB).all()
        assert (arena.bytes[stop : stop + GUARD_BYTES] == 0xAB).all()
        assert torch.equal(arena.view(spec), values[spec["name"]])


def test_what_cannot_be_passed_is_named() -> None:
    with pytest.raises(TypeError, match="table: a dict"):
        plan({"table": {"a": 1}})
    with pytest.raises(TypeError, match=r"sparse: a torch\.sparse_coo"):
        plan({"sparse": torch.eye(2).to_sparse()})


def test_clone_keeps_strides_and_shares_nothing() -> None:
    source = torch.randn(3, 8)[:, :4]
    copy = clone(source)
    copy.zero_()
    assert copy.stride() == source.stride() and source.abs().sum() > 0
    assert span_elements((3, 4), (8, 1)) == 20
    assert span_elements((0, 4), (8, 1)) == 0
