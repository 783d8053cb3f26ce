"""Timing of a candidate and its contenders: the service's clock, fresh inputs, interleaved, outputs verified.

A sample is one batch of calls, long enough that the cost of a message is small; the cost of an empty batch, measured in
the same process before the kernel was loaded, is taken off. Between samples every process is stopped and all inputs get
new values at other addresses. The order of the contenders is random, then its reverse, then another. A sample follows
one call that is not counted, on old values, so that no kernel profits or suffers from what ran before it.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from typing import Any

from kernelwright.judge import inputs as input_sets
from kernelwright.judge import numerics, statistics
from kernelwright.judge.faults import Fault
from kernelwright.judge.inputs import Expected, InputSets, OracleClient, fresh_seed
from kernelwright.judge.protocol import encode
from kernelwright.judge.subject import Subject
from kernelwright.sandbox import placement

SAMPLE_NS = 2_000_000  # a sample lasts at least this long, or as long as MAX_CALLS or the memory allow
MAX_CALLS = 256
MAX_STAGED_BYTES = 64 << 20
WARM_UP_CALLS = 3
ONE_CALL = encode({"op": "batch", "sets": [0]})
VERIFIED_SHARE = 4  # one round in this many, chosen in secret, and the last round always
MIN_VERIFIED = 3
RACE_VERIFIED = 1
METHOD = (
    "wall clock of the judge around a batch of calls in the kernel's process, less an empty batch measured there "
    "before the kernel was loaded; new input values and addresses for every sample, written by the judge just before "
    "(warm where they fit the last-level cache); contenders interleaved in a random order and its reverse, in "
    "processes that are stopped in between, each thread on a core of its own; outputs of secretly chosen timed calls "
    "verified"
)


@dataclass
class WorkloadTimes:
    """Samples of one workload in microseconds per call, by contender, in the order measured."""

    samples_us: dict[str, list[float]] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    verified: int = 0


def time_workload(
    subjects: list[Subject], oracle: OracleClient, workload: str, samples: int, least_verified: int = MIN_VERIFIED
) -> WorkloadTimes:
    """Time all subjects on one workload; subjects[0] is the candidate, whose outputs are verified."""
    times = WorkloadTimes(samples_us={subject.label: [] for subject in subjects})
    probe = oracle.build([(workload, fresh_seed(), "normal") for _ in range(2)])
    for subject in subjects:
        subject.attach(probe)
        placement.release(subject.worker.pid)
        subject.prepare(oracle, workload)
        warm_up(subject)  # may build or tune, and starts the kernel's threads
        placement.spread(subject.worker.pid)
        times.calls[subject.label] = calls_for(warm_up(subject), probe.set_bytes())
    count = max(2, *times.calls.values())
    sets = oracle.build([(workload, fresh_seed(), "normal") for _ in range(count)])
    for subject in subjects:
        subject.attach(sets)
    verified = verified_rounds(samples, least_verified)
    order = list(subjects)
    for number in range(samples):
        if number % 2 == 0:
            secrets.SystemRandom().shuffle(order)
        else:
            order.reverse()
        play_round(order, subjects[0], sets, oracle, times, number in verified)
    oracle.drop(probe)
    oracle.drop(sets)
    return times


def warm_up(subject: Subject) -> float:
    """Nanoseconds of one call after the first few, which may build or tune."""
    limits = [subject.compile_timeout_s] + [subject.call_timeout_s] * (WARM_UP_CALLS + 1)
    elapsed = []
    for limit in limits:
        subject.restore()
        elapsed.append(subject.worker.timed(ONE_CALL, limit)[1])
    return 1000 * subject.call_us(min(elapsed[1:]), 1)


def calls_for(call_ns: float, set_bytes: int) -> int:
    """Calls per sample: enough for SAMPLE_NS, no more than the staged inputs allow."""
    wanted = math.ceil(SAMPLE_NS / call_ns)
    return max(1, min(wanted, MAX_CALLS, MAX_STAGED_BYTES // set_bytes))


def verified_rounds(samples: int, least: int = MIN_VERIFIED) -> set[int]:
    """Rounds whose outputs are verified: secret ones, at least `least` where there are so many, and the last."""
    wanted = min(samples, max(least, samples // VERIFIED_SHARE))
    return {samples - 1, *secrets.SystemRandom().sample(range(samples), wanted)}


def play_round(
    order: list[Subject], candidate: Subject, sets: InputSets, oracle: OracleClient, times: WorkloadTimes, verify: bool
) -> None:
    """One sample of each subject on the same new inputs; verification waits until all have run."""
    input_sets.refresh(sets, candidate.operator.inputs)
    to_verify: tuple[list[int], Any] = ([], None)
    for subject in order:
        # One call on the values of the last round: every kernel starts with its own memory and code in the caches.
        subject.worker.timed(ONE_CALL, subject.call_timeout_s)
        subject.restore()
        calls = times.calls[subject.label]
        chosen = secrets.SystemRandom().sample(range(len(sets.specs)), calls)
        reply, elapsed = subject.worker.timed(encode({"op": "batch", "sets": chosen}), subject.call_timeout_s * calls)
        times.samples_us[subject.label].append(subject.call_us(elapsed, calls))
        if subject is candidate:
            to_verify = (chosen, reply.get("pointers"))
    if verify:
        verify_batch(candidate, sets, oracle, *to_verify)
        times.verified += 1


def verify_batch(subject: Subject, sets: InputSets, oracle: OracleClient, chosen: list[int], pointers: Any) -> None:
    """Outputs of the last call and of one chosen only now. The child has been stopped since it answered."""
    if not isinstance(pointers, list) or len(pointers) != len(chosen):
        raise Fault("protocol_error", "the kernel's process gave an answer of the wrong form", subject.worker.log())
    picks = {len(chosen) - 1, secrets.randbelow(len(chosen))}
    collected = []
    spans: list[tuple[int, int]] = []
    for pick in sorted(picks):
        expected = oracle.expect(sets, chosen[pick])
        if not isinstance(pointers[pick], list) or len(pointers[pick]) != len(expected.outputs):
            raise Fault("wrong_in_timed_call", "a timed call returned another number of outputs", subject.worker.log())
        ordered = pointers[pick]
        collected.append((expected, subject.collect(ordered, expected, chosen[pick])))
        spans += [
            (pointer, expected.specs[name]["span"])
            for name, pointer in zip(expected.outputs, ordered, strict=True)
            if expected.specs[name].get("span") and name not in expected.aliases
        ]
    check_reuse(subject, pointers, expected)
    subject.check_untouched()
    for expected, results in collected:
        check_results(subject, results, expected)


def check_reuse(subject: Subject, pointers: list[Any], expected: Expected) -> None:
    """All outputs of a batch are alive at its end, so no two calls may have returned the same memory."""
    for position, name in enumerate(expected.outputs):
        if not expected.specs[name].get("span") or name in expected.aliases or name in subject.operator.aliases:
            continue
        seen = [item[position] for item in pointers if isinstance(item, list) and len(item) > position]
        if len(set(seen)) < len(pointers):
            raise Fault("output_reused", f"{name}: timed calls returned the same memory again", subject.worker.log())


def check_results(subject: Subject, results: dict[str, Any], expected: Expected) -> None:
    comparisons: dict[str, numerics.Comparison] = subject.compare(results, expected)
    wrong = next((item for item in comparisons.values() if item.reason), None)
    if wrong is not None:
        raise Fault(
            "wrong_in_timed_call", f"an output of a timed call is wrong: {wrong.sentence}", subject.worker.log()
        )


def summary(
    times: dict[str, WorkloadTimes], floors_us: dict[str, float | None], confidence: float, notes: list[str]
) -> dict[str, Any]:
    """verdict.timing from the raw samples."""
    workloads = {key: workload_entry(item, floors_us.get(key), confidence) for key, item in times.items()}
    others = [label for label in next(iter(times.values())).samples_us if label != "candidate"]
    pairs = {
        label: {key: (item.samples_us[label], item.samples_us["candidate"]) for key, item in times.items()}
        for label in others
    }
    geomean = {label: statistics.geomean_speedup(pair, confidence) for label, pair in pairs.items()}
    return {"method": METHOD, "workloads": workloads, "geomean": geomean, "notes": notes}


def workload_entry(times: WorkloadTimes, floor_us: float | None, confidence: float) -> dict[str, Any]:
    latency = {
        label: statistics.latency(values, confidence, times.calls[label]) for label, values in times.samples_us.items()
    }
    own = latency.pop("candidate")
    speedup = {
        label: statistics.speedup(times.samples_us[label], times.samples_us["candidate"], confidence)
        for label in latency
    }
    share = floor_us / own["median_us"] if floor_us else None
    return {"candidate": own, "contenders": latency, "speedup": speedup, "floor_us": floor_us, "share_of_floor": share}


def check_floor(timing: dict[str, Any]) -> None:
    """A latency below what the hardware can do is no measurement. Raises Fault."""
    for workload, entry in timing["workloads"].items():
        floor, median = entry["floor_us"], entry["candidate"]["median_us"]
        if floor is not None and median < floor:
            fault = Fault("below_floor", f"{workload}: {median:.3g} us is below the roofline floor of {floor:.3g} us")
            fault.workload = workload
            raise fault


def check_faster(timing: dict[str, Any], label: str, min_improvement: float) -> None:
    """The whole interval of the geomean speedup must clear the minimum improvement. Raises Fault."""
    found = timing["geomean"][label]
    if not found["low"] > 1 + min_improvement:
        raise Fault(
            "not_faster",
            f"{found['value']:.3f} times the {label}'s speed (interval {found['low']:.3f} to {found['high']:.3f}), "
            f"needed is more than {1 + min_improvement:.3f}",
        )


def check_confirmed(found: dict[str, float], label: str, min_improvement: float) -> None:
    """A repetition must show the improvement again, and its interval must exclude equality. Raises Fault."""
    if not (found["low"] > 1 and found["value"] > 1 + min_improvement):
        raise Fault(
            "not_faster",
            f"faster at first, but in fresh processes {found['value']:.3f} times the {label}'s speed "
            f"(interval {found['low']:.3f} to {found['high']:.3f})",
        )
