"""Timing of a candidate and its contenders: the service's clock, fresh inputs, interleaved, outputs verified.

A sample is one batch of calls, long enough that the cost of a message is small; the cost of an empty batch, measured in
the same process before the kernel was loaded, is taken off. Between samples every process is stopped and all inputs get
new values at other addresses (`changing`); in a secret share of the rounds they are built anew from new seeds, and who is
slower on those than on values derived from them has remembered something (`memo`). The order of the contenders is random,
then its reverse, then another. A sample follows one call that is not counted, on old values, so that no kernel profits or
suffers from what ran before it.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from typing import Any

from kernelwright.judge import memo, numerics, statistics
from kernelwright.judge.changing import Changes
from kernelwright.judge.faults import Fault
from kernelwright.judge.inputs import Expected, InputSets, OracleClient, fresh_seed
from kernelwright.judge.subject import METHOD, Subject
from kernelwright.sandbox import placement

WARM_UP_CALLS = 3
VERIFIED_SHARE = 4  # one round in this many, chosen in secret, and the last round always
QUEUED_SHARE, QUEUED_VERIFIED = 15, 2  # the same with a queue, where a look costs more than a sample
MIN_VERIFIED = 3
ECHOES = 2  # of the verified rounds, so many are followed by calls on nearly the same values, which are not timed
THOROUGH_ROUNDS, THOROUGH_CALLS = 1, 24  # of the verified rounds, so many with (almost) all calls looked at,
THOROUGH_BYTES = 2 << 20  # or as many as have so large inputs: comparing takes longer than timing
HELD_CALLS, HELD_US, HELD_BYTES = 512, 50_000, 64 << 20  # limits of a batch that is long so that outputs pile up
RACE_VERIFIED = 1
QUEUED_ROUNDS = 3  # of the check that queued calls are right
QUEUED_LEAST_ROUNDS = 8  # of timing, however many calls a round has


@dataclass
class WorkloadTimes:
    """Samples of one workload in microseconds per call, by contender, in the order measured."""

    samples_us: dict[str, list[float]] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    verified: int = 0
    clock: str = "wall"
    wall_us: dict[str, float | None] = field(default_factory=dict)  # per call with the host's part, by contender
    rounds: list[memo.Round] = field(default_factory=list)


def time_workload(
    subjects: list[Subject], oracle: OracleClient, workload: str, samples: int, least_verified: int = MIN_VERIFIED
) -> WorkloadTimes:
    """Time all subjects on one workload; subjects[0] is the candidate, whose outputs are verified."""
    times = WorkloadTimes(samples_us={subject.label: [] for subject in subjects})
    probe = oracle.build([(workload, fresh_seed(), "normal") for _ in range(2)])
    for subject in subjects:
        subject.attach(probe)
        times.calls[subject.label] = subject.calls_for(warmed_up(subject, oracle, workload), probe.set_bytes())
    choose_clock(subjects, times)
    rounds = rounds_for(samples, subjects[0].samples_of(times.calls[subjects[0].label]))
    count = max(2, *times.calls.values())
    sets = oracle.build([(workload, fresh_seed(), "normal") for _ in range(count)])
    for subject in subjects:
        subject.attach(sets)
    play(subjects, sets, oracle, times, rounds, least_verified)
    for subject in subjects:
        subject.check_clock()
        times.wall_us[subject.label] = subject.wall_us(times.calls[subject.label])
    oracle.drop(probe)
    oracle.drop(sets)
    memo.check(times.rounds)
    return times


def play(
    subjects: list[Subject],
    sets: InputSets,
    oracle: OracleClient,
    times: WorkloadTimes,
    rounds: int,
    least_verified: int,
) -> None:
    """All rounds: which of them are verified, thoroughly so, and on values built anew, is secret."""
    least, share = least_verified, VERIFIED_SHARE
    if subjects[0].queues:
        least, share = min(least_verified, QUEUED_VERIFIED), QUEUED_SHARE
    verified = verified_rounds(rounds, least, share)
    thorough = set(secrets.SystemRandom().sample(sorted(verified), min(THOROUGH_ROUNDS, len(verified))))
    echoed = set(secrets.SystemRandom().sample(sorted(verified), min(ECHOES, len(verified))))
    anew = memo.fresh_rounds(rounds)
    changes = Changes(sets, subjects[0].operator.inputs)
    order = list(subjects)
    for number in range(rounds):
        if number % 2 == 0:
            secrets.SystemRandom().shuffle(order)
        else:
            order.reverse()
        fresh = number in anew and oracle.rebuild(sets)
        if fresh:
            changes.look()
        else:
            changes.turn()
        pointers, chosen = play_round(order, subjects[0], sets, times, number in verified)
        times.rounds[-1].fresh = fresh
        subjects[0].check_sample(pointers)
        if number in verified:
            more = min(THOROUGH_CALLS, THOROUGH_BYTES // sets.set_bytes()) if number in thorough else 1
            verify_batch(subjects[0], sets, oracle, chosen, pointers, max(1, more))
            times.verified += 1
        if number in echoed:
            changes.echo()
            chosen = held_batch(subjects[0], sets, oracle, times)
            pointers = subjects[0].sample(chosen)[1]
            subjects[0].check_sample(pointers)
            verify_batch(subjects[0], sets, oracle, chosen, pointers, 0)
        if number == 0:
            subjects[0].pin(pointers)  # of the last batch, whose outputs the child still holds


def held_batch(subject: Subject, sets: InputSets, oracle: OracleClient, times: WorkloadTimes) -> list[int]:
    """Sets for a batch whose outputs are all kept, so that a ring of buffers comes round where time and memory allow.

    A device with a queue gets no more calls than it is prepared for, and a set that calls write no second one.
    """
    usual = times.calls[subject.label]
    chosen = secrets.SystemRandom().sample(range(len(sets.specs)), usual)
    if subject.queues or subject.operator.mutates:
        return chosen
    micros = max(1.0, times.samples_us[subject.label][-1])
    expected = oracle.expect(sets, chosen[-1])
    one = max(1, sum(expected.specs[name].get("span", 0) for name in expected.outputs))
    more = min(HELD_CALLS, int(HELD_US / micros), HELD_BYTES // one) - usual
    return [*secrets.SystemRandom().choices(range(len(sets.specs)), k=max(0, more)), *chosen]


def check_queued(subject: Subject, oracle: OracleClient, workload: str) -> int:
    """On a device with a queue: calls queued on old values, run on new ones, must give right results. Checks made.

    Work on a stream that nothing orders after the caller's has used the old values, and work that nobody waits for
    ends too late. The subject has been prepared for the workload.
    """
    if not subject.queues:
        return 0
    sets = oracle.build([(workload, fresh_seed(), "normal") for _ in range(2)])
    try:
        subject.attach(sets)
        subject.warm_up(1)
        if not subject.can_queue():
            return 0
        subject.use_clock(True)
        changes = Changes(sets, subject.operator.inputs)
        for _ in range(QUEUED_ROUNDS):
            changes.turn()
            verify_batch(subject, sets, oracle, [0, 1], subject.sample([0, 1])[1])
        subject.check_clock()
    except Fault as fault:
        fault.workload = fault.workload or workload
        raise
    finally:
        subject.use_clock(False)
        oracle.drop(sets)
    return QUEUED_ROUNDS


def warmed_up(subject: Subject, oracle: OracleClient, workload: str) -> float:
    """Nanoseconds of one call of the prepared kernel after the first few, which may build, tune or start threads."""
    if not subject.queues:
        placement.release(subject.worker.pid)
    subject.prepare(oracle, workload)
    first = subject.warm_up(WARM_UP_CALLS + 1)
    if subject.queues:
        return first
    placement.spread(subject.worker.pid)
    return subject.warm_up(WARM_UP_CALLS + 1)


def choose_clock(subjects: list[Subject], times: WorkloadTimes) -> None:
    """One clock for all: the device's where every kernel can be queued, else the wall clock."""
    queued = all(subject.can_queue() for subject in subjects)
    least_calls = min(times.calls.values())  # samples are pairs by call
    times.clock = "device" if queued else "wall"
    for subject in subjects:
        subject.use_clock(queued)
        if queued:
            times.calls[subject.label] = least_calls


def rounds_for(samples: int, per_round: int) -> int:
    """Rounds that give at least so many samples: the device's clock times calls of a batch by themselves."""
    return min(samples, max(QUEUED_LEAST_ROUNDS, math.ceil(samples / per_round)))


def verified_rounds(samples: int, least: int = MIN_VERIFIED, share: int = VERIFIED_SHARE) -> set[int]:
    """Rounds whose outputs are verified: secret ones, at least `least` where there are so many, and the last."""
    wanted = min(samples, max(least, samples // share))
    return {samples - 1, *secrets.SystemRandom().sample(range(samples), wanted)}


def play_round(
    order: list[Subject], candidate: Subject, sets: InputSets, times: WorkloadTimes, verify: bool
) -> tuple[list[list[int]], list[int]]:
    """One sample of each subject on the same new inputs; the candidate's outputs and the sets it was called on."""
    pointers: list[list[int]] = []
    own: list[int] = []
    means = {}
    for subject in order:
        chosen = secrets.SystemRandom().sample(range(len(sets.specs)), times.calls[subject.label])
        micros, found = subject.sample(chosen, verify and subject is candidate)
        times.samples_us[subject.label] += micros
        means[subject.label] = sum(micros) / len(micros)
        if subject is candidate:
            pointers, own = found, chosen
    times.rounds.append(memo.Round(means))
    return pointers, own


def verify_batch(
    subject: Subject,
    sets: InputSets,
    oracle: OracleClient,
    chosen: list[int],
    pointers: list[list[int]],
    more: int = 1,
) -> None:
    """Outputs of the last call and of `more` chosen only now. The child has been stopped since it answered."""
    picks = {len(chosen) - 1, *secrets.SystemRandom().sample(range(len(chosen)), min(more, len(chosen)))}
    collected = []
    for pick in sorted(picks):
        expected = oracle.expect(sets, chosen[pick])
        if len(pointers[pick]) != len(expected.outputs):
            raise Fault("wrong_in_timed_call", "a timed call returned another number of outputs", subject.worker.log())
        ordered = by_position(pointers[pick], subject.output_names, expected.outputs)
        collected.append((expected, subject.collect(ordered, expected, chosen[pick])))
    check_reuse(subject, [by_position(item, subject.output_names, expected.outputs) for item in pointers], expected)
    subject.check_finished()
    subject.check_untouched()
    for expected, results in collected:
        check_results(subject, results, expected)


def by_position(pointers: list[int], names: list[str] | None, wanted: list[str]) -> list[int]:
    """Addresses in the order of the reference's outputs, where a mapping was returned in another."""
    if names is None or sorted(names) != sorted(wanted):
        return pointers
    return [dict(zip(names, pointers, strict=False)).get(name, 0) for name in wanted]


def check_reuse(subject: Subject, pointers: list[list[int]], expected: Expected) -> None:
    """All outputs of a batch are alive at its end, so no two calls may have returned the same memory."""
    for position, name in enumerate(expected.outputs):
        if not expected.specs[name].get("span") or name in expected.aliases or name in subject.operator.aliases:
            continue
        seen = [item[position] for item in pointers if len(item) > position]
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
    times: dict[str, WorkloadTimes],
    floors_us: dict[str, float | None],
    confidence: float,
    notes: list[str],
    method: str = METHOD,
) -> dict[str, Any]:
    """verdict.timing from the raw samples."""
    workloads = {key: workload_entry(item, floors_us.get(key), confidence) for key, item in times.items()}
    others = [label for label in next(iter(times.values())).samples_us if label != "candidate"]
    pairs = {
        label: {key: (item.samples_us[label], item.samples_us["candidate"]) for key, item in times.items()}
        for label in others
    }
    geomean = {label: statistics.geomean_speedup(pair, confidence) for label, pair in pairs.items()}
    return {"method": method, "workloads": workloads, "geomean": geomean, "notes": notes}


def workload_entry(times: WorkloadTimes, floor_us: float | None, confidence: float) -> dict[str, Any]:
    latency = {
        label: {
            **statistics.latency(values, confidence, times.calls[label] if times.clock == "wall" else 1),
            **clock_entry(times, label),
        }
        for label, values in times.samples_us.items()
    }
    own = latency.pop("candidate")
    speedup = {
        label: statistics.speedup(times.samples_us[label], times.samples_us["candidate"], confidence)
        for label in latency
    }
    share = floor_us / own["median_us"] if floor_us else None
    return {"candidate": own, "contenders": latency, "speedup": speedup, "floor_us": floor_us, "share_of_floor": share}


def clock_entry(times: WorkloadTimes, label: str) -> dict[str, Any]:
    """Which clock the samples are of, and the latency with the host's part where it is another."""
    if times.clock == "wall":
        return {}
    return {"clock": times.clock, "wall_us": times.wall_us.get(label)}


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
