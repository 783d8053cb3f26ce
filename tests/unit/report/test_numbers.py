"""Numbers for people."""

from __future__ import annotations

import pytest
from kernelwright.report import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.01234, "0.0123"),
        (1.234, "1.23"),
        (12.34, "12.3"),
        (1234.5, "1,234"),
        (2e-6, "2.0e-06"),
        (None, "unknown"),
        (float("nan"), "unknown"),
    ],
)
def test_digits(value: float | None, text: str) -> None:
    assert numbers.digits(value) == text


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0.25, "250 ns"),
        (4.981, "4.98 µs"),
        (117.2, "117 µs"),
        (23700.0, "23.7 ms"),
        (3.2e6, "3.20 s"),
        (None, "unknown"),
    ],
)
def test_latency(us: float | None, text: str) -> None:
    assert numbers.latency(us) == text


def test_ratios_and_intervals() -> None:
    assert numbers.ratio(1.8449) == "1.84\u00d7"
    assert numbers.ratio(12.34) == "12.3\u00d7"
    assert numbers.interval({"value": 1.84, "low": 1.801, "high": 1.88}) == "1.80 to 1.88"
    assert numbers.interval(None) == numbers.ratio(None) == numbers.percent(None) == numbers.size(None) == "unknown"
    assert numbers.ratio(0.0188) == "0.019\u00d7"
    assert [numbers.percent(value) for value in (0.456, 0.0123, 0.00048)] == ["46%", "1.2%", "0.048%"]


def test_units() -> None:
    assert [numbers.size(value) for value in (12, 2048, 3 * 2**20)] == ["12 B", "2.00 KiB", "3.00 MiB"]
    assert [numbers.seconds(value) for value in (12.34, 245, 7380)] == ["12.3 s", "4 min 05 s", "2 h 03 min"]
    assert numbers.metric({"value": None, "unit": "us"}) == "unknown"
    assert numbers.metric({"value": 1500.0, "unit": "us"}) == "1.50 ms"
    assert numbers.metric({"value": 0.41, "unit": "ratio"}) == "0.410"
    assert numbers.metric({"value": 31.5, "unit": "GB/s"}) == "31.5 GB/s"
