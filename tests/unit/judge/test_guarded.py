from __future__ import annotations

import ctypes

import torch
from kernelwright.judge.guarded import GuardedAllocations


def test_new_memory_is_poisoned_in_every_way_of_asking() -> None:
    x = torch.zeros(3, 5, dtype=torch.bfloat16)
    with GuardedAllocations(0xFF) as guard:
        made = [torch.empty(4), torch.empty_like(x), x.new_empty(2), torch.empty_strided((2, 3), (1, 2))]
    for tensor in made:
        assert torch.isnan(tensor.float()).all()
    assert made[1].shape == (3, 5) and made[1].dtype is torch.bfloat16
    assert made[3].stride() == (1, 2)
    assert guard.broken() == []


def test_writes_beside_a_tensor_are_told() -> None:
    with GuardedAllocations(0x5A) as guard:
        below, above = torch.empty(7), torch.empty(8)
    below.zero_()
    ctypes.memset(above.data_ptr() + 32, 0, 1)
    assert guard.broken() == ["(8,) torch.float32"]
    ctypes.memset(below.data_ptr() - 1, 0, 1)
    assert len(guard.broken()) == 2


def test_without_the_mode_nothing_changes() -> None:
    with GuardedAllocations(0xFF):
        filled = torch.zeros(3)
    assert torch.equal(filled, torch.zeros(3))
