"""Metrics with a planted cause: it must come first, on every vendor's names."""

from __future__ import annotations

import pytest
from kernelwright.profilers import diagnosis

LAUNCH = {"launch_us": {"value": 4.0}}
CALM = {
    "device_time_us": 500.0, "memory_throughput_share": 0.25, "compute_throughput_share": 0.2, "achieved_occupancy": 0.8,
    "waves_per_unit": 30.0, "unit_balance": 0.99, "stall.long_scoreboard": 0.15, "stall.barrier": 0.05,
}  # fmt: skip
PLANTED = {
    "memory": {"memory_throughput_share": 0.9, "stall.long_scoreboard": 0.8},
    "compute": {"compute_throughput_share": 0.88, "stall.wait": 0.3},
    "latency": {"stall.long_scoreboard": 0.8},
    "launch": {"device_time_us": 1.5, "stall.long_scoreboard": 0.6},
    "occupancy": {"achieved_occupancy": 0.08, "theoretical_occupancy": 0.12, "stall.long_scoreboard": 0.7},
    "sync": {"stall.barrier": 0.7, "stall.long_scoreboard": 0.1},
    "tail": {"waves_per_unit": 1.02, "unit_balance": 0.55, "stall.long_scoreboard": 0.3},
}


def metrics(**values):
    return {name: {"value": value, "unit": "ratio"} for name, value in values.items()}


@pytest.mark.parametrize("bound", PLANTED)
def test_the_planted_cause_ranks_first(bound):
    found = diagnosis.of_device(metrics(**{**CALM, **PLANTED[bound]}), LAUNCH)
    assert found[0]["bound"] == bound, [(entry["bound"], entry["score"]) for entry in found]


def test_every_bound_of_the_vocabulary_can_be_named():
    from kernelwright import artifacts, paths

    schema = artifacts.load_yaml(paths.schemas_dir() / "profile.schema.yaml")
    known = schema["properties"]["bottlenecks"]["items"]["properties"]["bound"]["enum"]
    assert sorted(known) == sorted(PLANTED)


@pytest.mark.parametrize("bound", PLANTED)
def test_evidence_is_of_the_metrics_and_gains_are_bounded(bound):
    given = metrics(**{**CALM, **PLANTED[bound]})
    for entry in diagnosis.of_device(given, LAUNCH):
        assert set(entry["evidence"]) <= set(given)
        assert 1 <= entry["expected_gain"] <= diagnosis.MOST_GAIN
        assert 0 <= entry["score"] <= 1


def test_scores_order_the_list_and_small_ones_are_left_out():
    found = diagnosis.of_device(metrics(**CALM), LAUNCH)
    scores = [entry["score"] for entry in found]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) >= diagnosis.LEAST_SCORE


def test_unknown_metrics_name_nothing():
    assert diagnosis.of_device(metrics(**dict.fromkeys(CALM)), LAUNCH) == []
    assert diagnosis.of_device({}, {}) == []


def test_waiting_for_memory_counts_for_amd_too():
    found = diagnosis.of_device(metrics(memory_throughput_share=0.3, **{"stall.memory": 0.8}), {})
    assert found[0]["bound"] == "latency"


def test_no_launch_cost_no_launch_bound():
    bounds = [entry["bound"] for entry in diagnosis.of_device(metrics(**{**CALM, "device_time_us": 1.0}), {})]
    assert "launch" not in bounds
