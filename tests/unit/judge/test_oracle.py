"""Values that the oracle makes: regimes, and sets built anew in their places."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from kernelwright.judge import correctness, oracle
from kernelwright.judge.arena import Arena

OPERATOR = Path(__file__).resolve().parents[2] / "adversarial" / "operator"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_spikes_lie_anywhere_and_in_the_tail_of_each_row(dtype: torch.dtype) -> None:
    value = torch.randn(200, 1000).to(dtype)
    found = oracle.in_regime(value, "spike")
    high = found.double().abs() > 16
    counts = high.sum(dim=1)
    assert ((counts == 1) | (counts == 2)).all() and torch.isfinite(found).all()
    assert high[:, -oracle.TAIL :].any(dim=1).all() and high[:, : -oracle.TAIL].any()


def test_what_cannot_have_spikes_stays() -> None:
    for value in (torch.tensor(2.0), torch.ones(3, 1), torch.zeros(3, 4)):
        assert torch.equal(oracle.in_regime(value, "spike"), value)


def test_every_workload_gets_spikes_where_large_values_are_in_the_domain() -> None:
    dealt = correctness.regimes_by_workload(["a", "b", "c"], ("normal", "large", "tiny"))
    assert all(found[-1] == "spike" for found in dealt.values())
    assert sorted(regime for found in dealt.values() for regime in found[:-1]) == ["large", "tiny"]
    assert correctness.regimes_by_workload(["a"], ("normal", "tiny")) == {"a": ["tiny"]}


def wishes(*pairs: tuple[str, int]) -> list[dict]:
    return [{"workload": workload, "seed": seed, "regime": "normal"} for workload, seed in pairs]


def test_sets_are_built_anew_in_their_places() -> None:
    made = oracle.Oracle(str(OPERATOR), "cpu")
    made.build({"key": 1, "sets": wishes(("small", 1), ("padded", 2))})
    arena, _, _ = made.sets[1]
    assert isinstance(arena, Arena)
    before = arena.bytes.clone()
    reply, _ = made.rebuild({"key": 1, "sets": wishes(("small", 3), ("padded", 4))})
    assert reply == {"same": True} and not torch.equal(arena.bytes, before)
    made.rebuild({"key": 1, "sets": wishes(("small", 1), ("padded", 2))})
    assert torch.equal(arena.bytes, before)
    assert made.rebuild({"key": 1, "sets": wishes(("odd", 3), ("padded", 4))})[0] == {"same": False}
