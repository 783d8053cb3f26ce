"""Which bound rules a kernel on a device: one vocabulary for all vendors, from metrics whose names no vendor owns.

Each bound has a score, the share of the time that it rules, by which the list is ranked:
memory, compute: the share of the peak that is reached, which is what is left to wait for when it is high;
launch: the cost of one launch over that cost and the kernel's own time;
tail: the part of the last wave, or of the longest unit's time, in which other units idle;
sync: the share of time that waits at barriers; latency: at loads and at dependent results; occupancy: the share of
resident warps that is missing. These three count only in the time that neither memory nor compute rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

LEAST_SCORE = 0.05  # a bound below it is not named
MOST_GAIN = 20.0
SYNC = ("barrier", "membar", "warpgroup_arrive", "sleeping")
LATENCY = ("long_scoreboard", "short_scoreboard", "wait", "lg_throttle", "mio_throttle", "drain", "memory")
FULL = 0.5  # resident share from which more warps seldom help
MANY_WAVES = 8.0  # above it the last wave is a small part

Metrics = Mapping[str, Mapping[str, Any]]


def of_device(metrics: Metrics, facts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Ranked bottlenecks, the first rules most; empty when no metric is known."""
    value = {name: entry["value"] for name, entry in metrics.items()}
    launch_us = facts.get("launch_us", {}).get("value")
    memory = largest(value, "memory_throughput_share", "cache_throughput_share")
    compute = value.get("compute_throughput_share")
    busy = max(memory[1] or 0.0, compute or 0.0)
    entries = [
        throughput("memory", memory[0], memory[1]),
        throughput("compute", "compute_throughput_share", compute),
        launch(value, launch_us if isinstance(launch_us, int | float) else None),
        tail(value),
        waiting("sync", SYNC, value, busy, "warps wait for each other"),
        waiting("latency", LATENCY, value, busy, "warps wait for loads and results, and too few are ready meanwhile"),
        resident(value, busy),
    ]
    named = [entry for entry in entries if entry is not None and entry["score"] >= LEAST_SCORE]
    return sorted(named, key=lambda entry: -entry["score"])


def largest(value: Mapping[str, Any], *names: str) -> tuple[str, float | None]:
    """The metric with the largest known value."""
    known = [(value[name], name) for name in names if value.get(name) is not None]
    best = max(known, default=(None, names[0]))
    return best[1], best[0]


def entry(bound: str, score: float, evidence: list[str], gain: float | None, note: str) -> dict[str, Any]:
    score = round(min(1.0, max(0.0, score)), 4)
    rounded = None if gain is None else round(min(MOST_GAIN, max(1.0, gain)), 4)
    return {"bound": bound, "score": score, "evidence": evidence, "expected_gain": rounded, "note": note}


def removed(score: float) -> float:
    """Speedup when a share of the time is gone."""
    return 1 / max(1 / MOST_GAIN, 1 - score)


def throughput(bound: str, name: str, share: float | None) -> dict[str, Any] | None:
    if share is None:
        return None
    what = "less traffic or fewer instructions" if bound == "memory" else "fewer or cheaper instructions"
    note = f"at {share:.0%} of the peak; beyond the rest only {what} help"
    # Where it rules, only the way to the peak is left to gain; where it does not, its own share of the time.
    gain = min(1 / share, removed(share)) if share > 0 else None
    return entry(bound, share, [name], gain, note)


def launch(value: Mapping[str, Any], launch_us: float | None) -> dict[str, Any] | None:
    own = value.get("device_time_us")
    if own is None or launch_us is None:
        return None
    score = launch_us / (launch_us + own)
    note = f"a launch costs {launch_us:.3g} us, the kernel takes {own:.3g} us"
    return entry("launch", score, ["device_time_us"], removed(score), note)


def tail(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Idle units at the end: by the last, partly filled wave, and by units that work longer than others."""
    parts = []
    waves, balance = value.get("waves_per_unit"), value.get("unit_balance")
    if waves and waves < MANY_WAVES:
        parts.append(((math.ceil(waves) - waves) / math.ceil(waves), "waves_per_unit"))
    if balance is not None:
        parts.append((1 - balance, "unit_balance"))
    if not parts:
        return None
    score, name = max(parts)
    return entry("tail", score, [name], removed(score), "units idle while the last blocks run")


def waiting(
    bound: str, reasons: tuple[str, ...], value: Mapping[str, Any], busy: float, note: str
) -> dict[str, Any] | None:
    names = [f"stall.{reason}" for reason in reasons if value.get(f"stall.{reason}")]
    if not names:
        return None
    score = sum(value[name] for name in names) * (1 - busy)
    names.sort(key=lambda name: -value[name])
    return entry(bound, score, names[:3], removed(score), note)


def resident(value: Mapping[str, Any], busy: float) -> dict[str, Any] | None:
    """Too few resident warps to hide what they wait for: counts where fewer than FULL of them are there."""
    achieved = value.get("achieved_occupancy")
    if achieved is None or achieved >= FULL:
        return None
    # Below FULL the missing warps explain the waiting, so this ranks above latency.
    score = (1 - achieved / FULL * 0.5) * (1 - busy)
    names = [name for name in ("achieved_occupancy", "theoretical_occupancy") if value.get(name) is not None]
    return entry("occupancy", score, names, removed(1 - achieved / FULL), "few warps are resident")
