from __future__ import annotations

import pytest
from kernelwright.judge import devices, policy, subject, timing
from kernelwright.judge.draft import Draft
from kernelwright.judge.faults import Fault
from kernelwright.judge.request import JudgeRequest
from kernelwright.judge.subject import Subject


def test_calls_fill_a_sample_within_the_memory_limit() -> None:
    chosen = Subject("candidate", worker=None, operator=None, call_timeout_s=1, compile_timeout_s=1).calls_for  # type: ignore[arg-type]
    assert chosen(10_000, 1000) == 200
    assert chosen(100, 1000) == subject.MAX_CALLS
    assert chosen(10_000_000, 1000) == 1
    assert chosen(10_000, subject.MAX_STAGED_BYTES // 3) == 3
    assert chosen(10_000, subject.MAX_STAGED_BYTES * 2) == 1


def test_overhead_is_taken_off_but_never_more_than_half() -> None:
    timed = Subject("candidate", worker=None, operator=None, call_timeout_s=1, compile_timeout_s=1)  # type: ignore[arg-type]
    timed.floor_ns = (50_000.0, 500.0)
    assert timed.call_us(2_000_000, 100) == pytest.approx(19.0)
    assert timed.call_us(80_000, 1) == pytest.approx(40.0)


def test_the_last_round_is_always_verified_and_others_are_chosen() -> None:
    for samples in (2, 5, 30):
        rounds = timing.verified_rounds(samples)
        assert samples - 1 in rounds
        assert len(rounds) >= min(samples, timing.MIN_VERIFIED)
        assert rounds <= set(range(samples))
    assert len({frozenset(timing.verified_rounds(30)) for _ in range(20)}) > 1


def times(own: float, other: float) -> dict[str, timing.WorkloadTimes]:
    item = timing.WorkloadTimes({"candidate": [own] * 5, "incumbent": [other] * 5}, {"candidate": 3, "incumbent": 2})
    return {"w": item}


def test_summary_has_speedups_floor_share_and_calls() -> None:
    found = timing.summary(times(10.0, 15.0), {"w": 5.0}, 0.95, ["a note"])
    entry = found["workloads"]["w"]
    assert entry["share_of_floor"] == pytest.approx(0.5)
    assert entry["speedup"]["incumbent"]["value"] == pytest.approx(1.5)
    assert entry["contenders"]["incumbent"]["calls_per_sample"] == 2
    assert found["geomean"]["incumbent"]["value"] == pytest.approx(1.5)
    assert found["notes"] == ["a note"]


def test_unknown_floor_is_null() -> None:
    entry = timing.summary(times(10.0, 15.0), {"w": None}, 0.95, [])["workloads"]["w"]
    assert entry["floor_us"] is None and entry["share_of_floor"] is None


def test_below_the_floor_is_refused() -> None:
    timing.check_floor(timing.summary(times(10.0, 15.0), {"w": 9.9}, 0.95, []))
    with pytest.raises(Fault) as caught:
        timing.check_floor(timing.summary(times(10.0, 15.0), {"w": 10.5}, 0.95, []))
    assert caught.value.reason == "below_floor" and caught.value.workload == "w"


def test_the_whole_interval_must_clear_the_improvement() -> None:
    body = {"geomean": {"incumbent": {"value": 1.05, "low": 1.03, "high": 1.07}}}
    timing.check_faster(body, "incumbent", 0.02)
    with pytest.raises(Fault) as caught:
        timing.check_faster(body, "incumbent", 0.03)
    assert caught.value.reason == "not_faster" and caught.value.status == "rejected"


@pytest.mark.parametrize(
    "found", [{"value": 1.05, "low": 0.99, "high": 1.1}, {"value": 1.01, "low": 1.005, "high": 1.02}]
)
def test_a_confirmation_must_show_it_again(found: dict[str, float]) -> None:
    with pytest.raises(Fault):
        timing.check_confirmed(found, "incumbent", 0.02)


def test_own_share_is_what_is_not_in_library_operators() -> None:
    rows = [["kernelwright", 60.0, 1], ["aten::empty", 10.0, 5], ["aten::mm", 30.0, 5]]
    share, library = policy.attribution(rows)
    assert share == pytest.approx(0.7) and library == {"mm": 30.0}
    assert policy.attribution([]) == (None, {})


def test_production_refuses_library_compute_and_names_it() -> None:
    reply = {"rows": [["kernelwright", 10.0, 1], ["aten::softmax", 90.0, 5]], "modules": ["torch"]}
    share, evidence = policy.judge(reply, "cpp", "leaderboard")
    assert share == pytest.approx(0.1) and "softmax" in evidence[0]
    with pytest.raises(Fault, match="softmax") as caught:
        policy.judge(reply, "cpp", "production")
    assert caught.value.reason == "library_fallback"


def test_rounds_on_the_device_count_each_call_as_a_sample() -> None:
    assert timing.rounds_for(30, 1) == 30 and timing.rounds_for(2, 1) == 2
    assert timing.rounds_for(30, 3) == 10
    assert timing.rounds_for(12, 3) == timing.QUEUED_LEAST_ROUNDS
    assert timing.rounds_for(4, 3) == 4


def test_outputs_returned_by_name_are_put_in_order() -> None:
    assert timing.by_position([1, 2], ["residual", "out"], ["out", "residual"]) == [2, 1]
    assert timing.by_position([1, 2], None, ["out", "residual"]) == [1, 2]
    assert timing.by_position([1, 2], ["other", "out"], ["out", "residual"]) == [1, 2]


def test_a_busy_machine_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr("os.getloadavg", lambda: (4.13, 2.0, 1.0))
    assert devices.busy() == "the machine was busy: load 4.1 on 2 cores; intervals may be too narrow"
    monkeypatch.setattr("os.getloadavg", lambda: (1.9, 2.0, 1.0))
    assert devices.busy() is None


def test_the_sentence_counts_workloads_and_edge_workloads() -> None:
    draft = Draft(JudgeRequest("o", "c", "cpu", depth="correctness"), "o", ["a", "b"])
    draft.correctness = {"a": {}, "b": {}, "edge": {}}
    assert draft.sentence() == "correct on 2 workloads and 1 edge workload; not timed at depth correctness"
