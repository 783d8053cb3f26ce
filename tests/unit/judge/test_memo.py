from __future__ import annotations

import random

import pytest
from kernelwright.judge import memo
from kernelwright.judge.faults import Fault


def rounds(extra: float, noise: float, seed: int, others: bool = True) -> list[memo.Round]:
    """30 rounds with 5 fresh ones, on which the candidate takes `extra` times longer."""
    generator = random.Random(seed)
    found = []
    for number in range(30):
        fresh = number % 6 == 1
        load = generator.uniform(1, 3)  # of the machine, the same for all in one round
        times = {"candidate": 10 * (extra if fresh else 1), "reference": 12.0}
        times = {key: value * load * generator.lognormvariate(0, noise) for key, value in times.items()}
        found.append(memo.Round(times if others else {"candidate": times["candidate"] / load}, fresh))
    return found


@pytest.mark.parametrize("others", [True, False], ids=["paired", "alone"])
def test_slower_on_unseen_values_is_remembering(others: bool) -> None:
    with pytest.raises(Fault, match="never seen") as caught:
        memo.check(rounds(1.4, 0.04, 1, others))
    assert caught.value.reason == "memoised" and caught.value.status == "rejected"


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.6])
def test_noise_alone_is_not(noise: float) -> None:
    for seed in range(200):
        memo.check(rounds(1.0, noise, seed))


def test_few_rounds_say_nothing() -> None:
    memo.check(rounds(3.0, 0.01, 1)[:8])


def test_fresh_rounds_are_secret_and_apart() -> None:
    for count in (2, 6, 30):
        found = memo.fresh_rounds(count)
        assert found <= set(range(1, count - 1)) and not any(place + 1 in found for place in found)
    assert len(memo.fresh_rounds(30)) == 5
    assert len({frozenset(memo.fresh_rounds(30)) for _ in range(20)}) > 1
