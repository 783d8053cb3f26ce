"""Metrics and bottlenecks from figures that are worked out by hand."""

from __future__ import annotations

import pytest
from kernelwright.profilers import summary


def figures(**changes):
    row = {
        "latency_us": 100.0,
        "threads": 2,
        "one_thread_us": 200.0,
        "operators": 9,
        "page_faults": 0.0,
        "hot": [{"name": "aten::mul", "time_us": 30.0, "calls": 2}, {"name": "aten::add", "time_us": 10.0, "calls": 1}],
    }
    return {"workloads": {"w": {**row, **changes}}, "dispatch_us": 1.0, "fault_us": 0.5, "torch": "2.13"}


def specs(read=1_000_000, written=1_000_000, flops=4_000_000, floor=50.0, bound="memory", bandwidth=40.0):
    facts = {"memory_bandwidth_gb_s": {"value": bandwidth, "source": "measured", "confidence": "measured"}}
    traffic = {"read_bytes": read, "write_bytes": written, "flops": flops, "source": "declared"}
    return {
        "platform": {"facts": facts},
        "workloads": {"w": {"traffic": traffic, "floor": {"floor_us": floor, "bound": bound}}},
    }


def values(raw, of):
    return {name: metric["value"] for name, metric in summary.metrics(raw, of).items()}


def test_metrics_are_the_arithmetic_of_bytes_and_times():
    found = values(figures(), specs())
    assert found["latency_us"] == pytest.approx(100.0)
    assert found["latency_us.w"] == 100.0
    assert found["achieved_bandwidth_gb_s"] == pytest.approx(20.0)
    assert found["bandwidth_share"] == pytest.approx(0.5)
    assert found["achieved_gflops"] == pytest.approx(40.0)
    assert found["share_of_floor"] == pytest.approx(0.5)
    assert found["dispatch_overhead_us"] == pytest.approx(10.0)
    assert found["dispatch_overhead_share"] == pytest.approx(0.1)
    assert found["parallel_efficiency"] == pytest.approx(1.0)
    assert found["page_fault_share"] == 0.0


def test_what_is_not_known_is_null_and_never_a_guess():
    found = values(
        figures(one_thread_us=None, page_faults=None),
        specs(read=None, flops=None, floor=None, bound="unknown", bandwidth=None),
    )
    unknown = {name for name, value in found.items() if value is None}
    assert unknown == {
        "achieved_bandwidth_gb_s",
        "bandwidth_share",
        "achieved_gflops",
        "share_of_floor",
        "parallel_efficiency",
        "threads",
        "page_faults_per_call",
        "page_fault_share",
    }


def ranked(raw, of):
    return [
        (entry["bound"], entry["expected_gain"]) for entry in summary.bottlenecks(summary.metrics(raw, of), raw, of)
    ]


def test_bottlenecks_are_ranked_by_what_their_removal_gives():
    assert ranked(figures(), specs()) == [("memory", pytest.approx(100 / 51)), ("launch", pytest.approx(100 / 91))]
    serial = figures(one_thread_us=100.0)
    assert ranked(serial, specs(floor=90.0))[0] == ("occupancy", pytest.approx(2.0))


def test_page_faults_are_a_bottleneck_of_their_own():
    raw = figures(page_faults=100.0)
    assert values(raw, specs())["page_fault_share"] == pytest.approx(0.5)
    assert ("latency", pytest.approx(2.0)) in ranked(raw, specs())


def test_a_compute_floor_is_a_compute_bottleneck():
    assert ranked(figures(), specs(bound="compute"))[0][0] == "compute"


def test_every_bottleneck_cites_metrics_that_exist():
    for of in (specs(), specs(floor=None, bound="unknown"), specs(bound="compute")):
        raw = figures(one_thread_us=120.0, page_faults=40.0)
        metrics = summary.metrics(raw, of)
        for entry in summary.bottlenecks(metrics, raw, of):
            assert entry["evidence"]
            assert set(entry["evidence"]) <= set(metrics)


def test_the_hot_list_is_by_share():
    assert summary.hot(figures()) == [
        {"name": "aten::mul", "share": 0.75, "time_us": 30.0, "calls": 2},
        {"name": "aten::add", "share": 0.25, "time_us": 10.0, "calls": 1},
    ]
