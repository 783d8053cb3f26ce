from __future__ import annotations

import numpy as np
import pytest
from kernelwright.judge import statistics

RNG = np.random.default_rng(1)


def noisy(centre: float, count: int = 30) -> list[float]:
    return list(centre * (1 + 0.02 * RNG.standard_normal(count)))


def test_latency_keeps_raw_samples_in_order_and_brackets_the_median() -> None:
    samples = noisy(50.0)
    found = statistics.latency(samples, 0.95, 4)
    assert found["low_us"] <= found["median_us"] <= found["high_us"]
    assert found["samples_us"] == [round(value, 4) for value in samples]
    assert found["calls_per_sample"] == 4


def test_speedup_of_twice_as_fast_is_two() -> None:
    found = statistics.speedup(noisy(100.0), noisy(50.0), 0.95)
    assert found["low"] < found["value"] < found["high"]
    assert found["value"] == pytest.approx(2.0, rel=0.05)


def test_noise_that_both_share_round_by_round_stays_in_the_ratio_only_once() -> None:
    own = noisy(50.0)
    found = statistics.speedup([2 * value for value in own], own, 0.95)
    assert found["low"] == pytest.approx(2.0) and found["high"] == pytest.approx(2.0)


def test_geomean_is_the_geometric_mean_of_the_ratios_of_medians() -> None:
    found = statistics.geomean_speedup({"a": ([4.0] * 5, [1.0] * 5), "b": ([1.0] * 5, [1.0] * 5)}, 0.95)
    assert found == {"value": pytest.approx(2.0), "low": pytest.approx(2.0), "high": pytest.approx(2.0)}


def test_wider_confidence_is_a_wider_interval() -> None:
    pair = (noisy(60.0), noisy(50.0))
    narrow, wide = (statistics.speedup(*pair, confidence) for confidence in (0.6, 0.99))
    assert wide["low"] < narrow["low"] and wide["high"] > narrow["high"]


def test_unpaired_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="paired samples differ"):
        statistics.speedup([1.0, 2.0], [1.0], 0.95)
