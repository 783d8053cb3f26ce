"""Medians, paired speedups and their bootstrap intervals (percentile method), vectorised over resamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

RESAMPLES = 2000


@lru_cache(maxsize=128)
def _indices(count: int, seed: int) -> Any:
    import numpy as np

    return np.random.default_rng(seed).integers(0, count, size=(RESAMPLES, count))


@lru_cache(maxsize=64)
def _medians(samples_us: tuple[float, ...], seed: int) -> Any:
    """Medians of the resamples, one each, shape (RESAMPLES,)."""
    import numpy as np

    return np.median(np.asarray(samples_us, dtype=np.float64)[_indices(len(samples_us), seed)], axis=1)


def _interval(values: Any, confidence: float) -> tuple[float, float]:
    import numpy as np

    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def latency(samples_us: Sequence[float], confidence: float, calls_per_sample: int) -> dict[str, Any]:
    """Verdict entry of one contender on one workload: median, interval, raw samples in the order measured."""
    import numpy as np

    data = np.asarray(samples_us, dtype=np.float64)
    low, high = _interval(_medians(tuple(samples_us), 0), confidence)
    return {
        "median_us": float(np.median(data)),
        "low_us": low,
        "high_us": high,
        "samples_us": [round(float(value), 4) for value in data],
        "calls_per_sample": calls_per_sample,
    }


def _log_ratios(other_us: Sequence[float], own_us: Sequence[float], seed: int) -> tuple[float, Any]:
    """log of median(other)/median(own), and the same over resamples that keep the pairs of a round together."""
    import numpy as np

    other, own = np.asarray(other_us, dtype=np.float64), np.asarray(own_us, dtype=np.float64)
    if len(other) != len(own) or not len(own):
        raise ValueError(f"paired samples differ in number: {len(other)} and {len(own)}")
    resampled = np.log(_medians(tuple(other_us), seed)) - np.log(_medians(tuple(own_us), seed))
    return float(np.log(np.median(other)) - np.log(np.median(own))), resampled


def _estimate(value: float, resampled: Any, confidence: float) -> dict[str, float]:
    import math

    low, high = _interval(resampled, confidence)
    return {"value": math.exp(value), "low": math.exp(low), "high": math.exp(high)}


def speedup(other_us: Sequence[float], own_us: Sequence[float], confidence: float) -> dict[str, float]:
    """other's time over own time, over 1 is faster. Samples are pairs by round."""
    value, resampled = _log_ratios(other_us, own_us, 0)
    return _estimate(value, resampled, confidence)


def geomean_speedup(
    pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]], confidence: float
) -> dict[str, float]:
    """Geometric mean over workloads of median(other)/median(own); rounds are resampled within each workload."""
    ratios = [_log_ratios(other, own, seed) for seed, (other, own) in enumerate(pairs.values())]
    value = sum(ratio for ratio, _ in ratios) / len(ratios)
    resampled = sum(values for _, values in ratios) / len(ratios)
    return _estimate(value, resampled, confidence)
