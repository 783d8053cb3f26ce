"""Numbers for people: sensible digits, units, and the word `unknown` for what is not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

UNKNOWN = "unknown"
TIMES = "\u00d7"  # the multiplication sign


def digits(value: float | None, significant: int = 3) -> str:
    """Fixed notation with about `significant` digits: 0.0123, 1.23, 12.3, 123, 1,230."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    places = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.1e}" if abs(value) < 1e-4 else f"{value:,.{places}f}"


def latency(us: float | None) -> str:
    """Microseconds as ns, µs, ms or s."""
    if us is None:
        return UNKNOWN
    for limit, scale, unit in ((1.0, 1e3, "ns"), (1e3, 1.0, "µs"), (1e6, 1e-3, "ms")):
        if us < limit:
            return f"{digits(us * scale)} {unit}"
    return f"{digits(us * 1e-6)} s"


def ratio(value: float | None) -> str:
    """A speedup, 1.84x with a multiplication sign; two decimals from 0.1 to 10, else significant digits."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.1:
        return f"{digits(value, 2)}{TIMES}"
    return f"{value:.2f}{TIMES}" if value < 10 else f"{digits(value)}{TIMES}"


def interval(estimate: Mapping[str, Any] | None) -> str:
    """Bounds of an estimate of a ratio, 1.80 to 1.88."""
    if estimate is None:
        return UNKNOWN
    return f"{ratio(estimate['low'])[:-1]} to {ratio(estimate['high'])[:-1]}"


def percent(share: float | None) -> str:
    if share is None:
        return UNKNOWN
    if 0 < share < 0.01:
        return f"{digits(share * 100, 2)}%"
    return f"{share * 100:.1f}%" if share < 0.1 else f"{share * 100:.0f}%"


def size(count: float | None) -> str:
    """Bytes with a binary prefix."""
    if count is None:
        return UNKNOWN
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{digits(count) if unit != 'B' else int(count)} {unit}"
        count /= 1024
    return f"{digits(count)} TiB"


def seconds(value: float | None) -> str:
    """A duration: 12.3 s, 4 min 05 s, 2 h 03 min."""
    if value is None:
        return UNKNOWN
    if value < 60:
        return f"{digits(value)} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.0f}"


def metric(fact: Mapping[str, Any]) -> str:
    """A profile metric with its unit."""
    value, unit = fact["value"], fact["unit"]
    if value is None:
        return UNKNOWN
    if unit in ("B", "byte", "bytes"):
        return size(value)
    if unit in ("us", "µs"):
        return latency(value)
    if unit in ("%", "percent"):
        return f"{digits(value)}%"
    return f"{digits(value)} {unit}".strip() if unit not in ("ratio", "share", "1") else digits(value)


FILTERS = {
    "digits": digits, "latency": latency, "ratio": ratio, "interval": interval, "percent": percent, "size": size,
    "seconds": seconds, "count": count, "metric": metric,
}  # fmt: skip
