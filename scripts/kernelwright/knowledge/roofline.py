"""Roofline floors: the least time a workload can take on a platform, from declared work and known facts.

Memory (us): on a processor with known cache bandwidths, the first bytes move at the speed of the cache they may lie in:
    private cache, then last-level cache, then memory.
Otherwise every byte moves at memory bandwidth, except that written bytes up to the size of the last-level cache may
still lie there when the kernel ends.
Compute (us): FLOPs over the peak of the narrowest floating type among inputs and outputs.
A measured peak is what one program reached, so a floor allows for MEASURED_HEADROOM more. Unknown stays null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MEASURED_HEADROOM = 1.25
# Narrowest first. The facts that can serve a type: float32 products may be split over tf32 units without losing bits.
PEAK_FACTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("float4_e2m1fn_x2",), ("peak_fp4_tflops",)),
    (("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), ("peak_fp8_tflops",)),
    (("bfloat16", "float16"), ("peak_bf16_tflops",)),
    (("float32",), ("peak_fp32_tflops", "peak_tf32_tflops")),
    (("float64",), ("peak_fp64_tflops",)),
)

Facts = Mapping[str, Mapping[str, Any]]


def rate(facts: Facts, name: str) -> float | None:
    """A peak to divide by: the fact's value, raised by the headroom when it was measured; None when unknown."""
    fact = facts.get(name, {})
    value = fact.get("value")
    if not isinstance(value, int | float) or value <= 0:
        return None
    return float(value) * (MEASURED_HEADROOM if fact.get("confidence") == "measured" else 1.0)


def size(facts: Facts, name: str) -> float | None:
    value = facts.get(name, {}).get("value")
    return float(value) if isinstance(value, int | float) else None


def memory_us(read_bytes: int | None, write_bytes: int | None, facts: Facts) -> float | None:
    """Least time to move the bytes; an unknown side counts as nothing, both unknown is None."""
    if read_bytes is None and write_bytes is None:
        return None
    read, written = read_bytes or 0, write_bytes or 0
    bandwidth = rate(facts, "memory_bandwidth_gb_s")
    if bandwidth is None:
        return None
    last_level = size(facts, "last_level_cache_bytes")
    cache = rate(facts, "cache_bandwidth_gb_s")
    if last_level is not None and cache is not None:
        return tiered_us(read + written, bandwidth, max(cache, bandwidth), last_level, facts)
    return (read + max(0.0, written - (last_level or 0.0))) / bandwidth / 1e3


def tiered_us(total: int, bandwidth: float, cache: float, last_level: float, facts: Facts) -> float:
    """Bytes over the bandwidth of the cache level that may hold them (GB/s; 1 GB/s is 1e3 bytes per us)."""
    private = min(size(facts, "private_cache_bytes") or 0.0, last_level)
    private_rate = max(rate(facts, "private_cache_bandwidth_gb_s") or cache, cache)
    in_private = min(total, private)
    in_cache = min(total, last_level) - in_private
    return (in_private / private_rate + in_cache / cache + (total - in_private - in_cache) / bandwidth) / 1e3


def peak_tflops(dtypes: Iterable[str], facts: Facts) -> float | None:
    """Peak of the narrowest floating type in use; None when it is unknown or no type is floating."""
    used = {name for dtype in dtypes for name in dtype.split("|")}
    for names, candidates in PEAK_FACTS:
        if used & set(names):
            main = rate(facts, candidates[0])
            return None if main is None else max(main, *(rate(facts, name) or 0.0 for name in candidates))
    return None


def compute_us(flops: int | None, dtypes: Iterable[str], facts: Facts) -> float | None:
    peak = peak_tflops(dtypes, facts) if flops is not None else None
    return None if flops is None or peak is None else flops / peak / 1e6


def launch_us(facts: Facts) -> float | None:
    """Least cost of one call; a measured one is lowered by the headroom."""
    fact = facts.get("launch_us", {})
    value = fact.get("value")
    if not isinstance(value, int | float):
        return None
    return float(value) / (MEASURED_HEADROOM if fact.get("confidence") == "measured" else 1.0)


def floor(traffic: Mapping[str, Any], dtypes: Iterable[str], facts: Facts) -> dict[str, Any]:
    """Floor of one workload. `floor_us` is the largest of the known parts, null when memory and compute are unknown."""
    parts = {
        "memory": memory_us(traffic["read_bytes"], traffic["write_bytes"], facts),
        "compute": compute_us(traffic["flops"], list(dtypes), facts),
        "launch": launch_us(facts),
    }
    known = {name: value for name, value in parts.items() if value is not None}
    rated = parts["memory"] is not None or parts["compute"] is not None
    bound = max(known, key=lambda name: known[name]) if rated else "unknown"
    return {
        **{f"{name}_us": rounded(value) for name, value in parts.items()},
        "floor_us": rounded(known[bound]) if rated else None,
        "bound": bound,
    }


def reached_facts(facts: Facts) -> dict[str, dict[str, Any]]:
    """Measured facts under the names that a floor reads, as they were measured: what a program has reached.

    A copy stands for memory bandwidth, a matrix product for the peak of its type. What nobody measured is left out.
    """
    found = {
        name: {"value": fact["value"], "confidence": "reached"}
        for name, fact in facts.items()
        if fact.get("confidence") == "measured" and isinstance(fact.get("value"), int | float)
    }
    for dtype in ("bf16", "fp16", "tf32", "fp32", "fp8"):
        if f"matmul_{dtype}_tflops" in found:
            found[f"peak_{dtype}_tflops"] = found[f"matmul_{dtype}_tflops"]
    if "copy_bandwidth_gb_s" in found:
        found["memory_bandwidth_gb_s"] = found["copy_bandwidth_gb_s"]
        # A copy's rate holds for memory; what may stay in a cache is the datasheet's to say.
        for name in ("last_level_cache_bytes", "l2_cache_bytes"):
            if name in facts and name not in found:
                found[name] = dict(facts[name])
    return found


def calibrated_floor(traffic: Mapping[str, Any], dtypes: Iterable[str], facts: Facts) -> dict[str, Any]:
    """Floor by what was measured, launch included: a time that programs have come close to, where `floor` is a bound."""
    found = floor(traffic, dtypes, reached_facts(facts))
    return {key: found[key] for key in ("memory_us", "compute_us", "launch_us", "floor_us", "bound")}


def rounded(value: float | None) -> float | None:
    """Six significant digits: more would be noise in an artifact."""
    return None if value is None else float(f"{value:.6g}")


def unknown_facts(facts: Facts, needed: Iterable[str]) -> list[str]:
    return [name for name in needed if facts.get(name, {}).get("value") is None]
