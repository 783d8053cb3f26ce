"""Raw figures of a kernel into metrics with units and ranked bottlenecks. Reads figures and specs, measures nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

WORTH_NAMING = 1.05  # a bottleneck whose removal gives less than 5 % is noise


def geomean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def metrics(raw: Mapping[str, Any], specs: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Metric -> {value, unit, note}. Sums over the workloads are of work over sums of time; null is unknown."""
    figures = raw["workloads"]
    total_us = sum(row["latency_us"] for row in figures.values())
    work = {key: specs["workloads"][key]["traffic"] for key in figures}
    floors = {key: specs["workloads"][key]["floor"] for key in figures}
    moved = _sum(_bytes(work[key]) for key in figures)
    flops = _sum(work[key]["flops"] for key in figures)
    bandwidth = None if moved is None else moved / total_us / 1e3
    peak = _number(specs["platform"]["facts"].get("memory_bandwidth_gb_s", {}).get("value"))
    shares = _all(_ratio(floors[key]["floor_us"], row["latency_us"]) for key, row in figures.items())
    dispatch = {key: (row["operators"] + 1) * raw["dispatch_us"] for key, row in figures.items()}
    found = {
        "latency_us": _metric(
            geomean(row["latency_us"] for row in figures.values()), "us", "geometric mean over the workloads"
        ),
        "achieved_bandwidth_gb_s": _metric(bandwidth, "GB/s", "declared bytes over measured time"),
        "bandwidth_share": _metric(_ratio(bandwidth, peak), "ratio", "of the platform's memory bandwidth"),
        "achieved_gflops": _metric(None if flops is None else flops / total_us / 1e3, "GFLOP/s"),
        "share_of_floor": _metric(geomean(shares) if shares else None, "ratio", "roofline floor over measured time"),
        "operators_per_call": _metric(max(row["operators"] for row in figures.values()), "1"),
        "dispatch_overhead_us": _metric(
            geomean(dispatch.values()), "us", "operators per call and one more, times one dispatch"
        ),
        "dispatch_overhead_share": _metric(
            geomean(min(1.0, dispatch[key] / row["latency_us"]) for key, row in figures.items()), "ratio"
        ),
        **_thread_metrics(figures),
        **_fault_metrics(raw),
    }
    found |= {f"latency_us.{key}": _metric(row["latency_us"], "us") for key, row in figures.items()}
    return found


def _thread_metrics(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    rows = [row for row in figures.values() if row.get("one_thread_us") is not None]
    efficiency = geomean(row["one_thread_us"] / row["latency_us"] / row["threads"] for row in rows) if rows else None
    note = "time with one thread over time with all of them, over their number"
    threads = float(rows[0]["threads"]) if rows else None
    return {"parallel_efficiency": _metric(efficiency, "ratio", note), "threads": _metric(threads, "1")}


def _fault_metrics(raw: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    rows = [row for row in raw["workloads"].values() if row.get("page_faults") is not None]
    if not rows or raw["fault_us"] is None:
        return {"page_faults_per_call": _metric(None, "1"), "page_fault_share": _metric(None, "ratio")}
    faults = max(row["page_faults"] for row in rows)
    lost = sum(row["page_faults"] for row in rows) * raw["fault_us"] / sum(row["latency_us"] for row in rows)
    note = "minor faults times the cost of one, over the time"
    return {"page_faults_per_call": _metric(faults, "1"), "page_fault_share": _metric(min(1.0, lost), "ratio", note)}


def hot(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Operators or kernels over all workloads by share of the profiled time."""
    times: dict[str, list[float]] = {}
    for row in raw["workloads"].values():
        for entry in row["hot"]:
            time_us, calls = times.setdefault(entry["name"], [0.0, 0.0])
            times[entry["name"]] = [time_us + entry["time_us"], calls + entry["calls"]]
    total = sum(time_us for time_us, _ in times.values()) or 1.0
    ordered = sorted(times.items(), key=lambda item: -item[1][0])
    return [{"name": n, "share": t / total, "time_us": t, "calls": int(c)} for n, (t, c) in ordered[:12]]


def bottlenecks(
    found: Mapping[str, Mapping[str, Any]], raw: Mapping[str, Any], specs: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """What limits the kernel, the most limiting first. expected_gain is the speedup if that alone were gone."""
    value = {name: metric["value"] for name, metric in found.items()}
    entries = []
    overhead = value["dispatch_overhead_share"]
    if overhead is not None:
        needed = raw["dispatch_us"] / value["dispatch_overhead_us"]  # one call has to stay
        evidence = ["dispatch_overhead_share", "operators_per_call"]
        entries.append(
            _entry("launch", evidence, 1 / max(1e-2, 1 - overhead * (1 - needed)), "one fused call would do")
        )
    efficiency, threads = value["parallel_efficiency"], value["threads"]
    if efficiency is not None and threads is not None and threads > 1:
        entries.append(
            _entry("occupancy", ["parallel_efficiency", "threads"], 1 / max(efficiency, 1 / threads), "idle cores")
        )
    if value["page_fault_share"] is not None:
        gain = 1 / max(1e-2, 1 - value["page_fault_share"])
        entries.append(
            _entry("latency", ["page_fault_share", "page_faults_per_call"], gain, "first touch of fresh memory")
        )
    entries += _roofline(value, raw, specs)
    named = [entry for entry in entries if entry["expected_gain"] is None or entry["expected_gain"] >= WORTH_NAMING]
    return sorted(named, key=lambda entry: -(entry["expected_gain"] or 0.0))


def merged(device: list[dict[str, Any]], own: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Bottlenecks of a device's counters, and before them what only the host's clock sees.

    Launch overhead lies outside of a kernel, so counters of the kernel do not show it: where it leads the list of the
    whole call it stays first. Of two entries for one bound the counters' is kept.
    """
    if not device:
        return own
    led = own[:1] if own and own[0]["bound"] == "launch" else []
    bounds = {entry["bound"] for entry in device} | {entry["bound"] for entry in led}
    rest = [entry for entry in own if entry["bound"] not in bounds]
    return [*led, *(entry for entry in device if entry["bound"] not in {one["bound"] for one in led}), *rest]


def _roofline(value: Mapping[str, Any], raw: Mapping[str, Any], specs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The floors' own bound: traffic beyond the declared bytes, or arithmetic below the peak; unknown floors say so."""
    floors = {key: specs["workloads"][key]["floor"] for key in raw["workloads"]}
    by_bound: dict[str, list[float]] = {}
    for key, floor in floors.items():
        if floor["bound"] in ("memory", "compute") and floor["floor_us"]:
            least = floor["floor_us"] + raw["dispatch_us"]  # a call has to be made even when the floor is tiny
            by_bound.setdefault(floor["bound"], []).append(raw["workloads"][key]["latency_us"] / least)
    evidence = {
        "memory": ["share_of_floor", "achieved_bandwidth_gb_s"],
        "compute": ["share_of_floor", "achieved_gflops"],
    }
    if not by_bound and value["share_of_floor"] is None:
        return [_entry("memory", ["achieved_bandwidth_gb_s"], None, "the roofline floor is unknown")]
    return [
        _entry(
            bound, evidence[bound], max(1.0, geomean(gains)), f"{len(gains)} of {len(floors)} workloads have this bound"
        )
        for bound, gains in by_bound.items()
    ]


def _entry(bound: str, evidence: list[str], gain: float | None, note: str) -> dict[str, Any]:
    return {"bound": bound, "evidence": evidence, "expected_gain": gain, "note": note}


def _metric(value: float | None, unit: str, note: str | None = None) -> dict[str, Any]:
    return {"value": value, "unit": unit, **({"note": note} if note else {})}


def _bytes(work: Mapping[str, Any]) -> int | None:
    return _sum((work["read_bytes"], work["write_bytes"]))


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if any(value is None for value in known) else sum(value for value in known if value is not None)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _all(values: Iterable[float | None]) -> list[float]:
    """The values, or an empty list when one is unknown or zero."""
    known = list(values)
    return [value for value in known if value] if all(known) else []
