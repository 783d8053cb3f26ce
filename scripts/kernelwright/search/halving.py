"""Successive halving: many candidates measured little, few measured well.

Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, AISTATS 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

LEAST_SAMPLES = 5


@dataclass(frozen=True)
class Rung:
    """One round: how much each candidate is measured and how many go on."""

    index: int
    workloads: tuple[str, ...]
    samples: int
    seeds: int
    keep: int


@dataclass(frozen=True)
class Trial:
    """One candidate in one round; score is a speedup (higher is better), None when it dropped out for `reason`."""

    candidate: int
    rung: int
    score: float | None
    reason: str | None
    facts: dict[str, Any]


def rungs(trials: int, finalists: int, workloads: Sequence[str], samples: int, seeds: int) -> list[Rung]:
    """Rounds for `trials` candidates: each keeps half, the last measures `finalists` on all workloads in full.

    `workloads` in the order of their weight: the first ones are measured in every round.
    """
    counts = [trials]
    while counts[-1] > finalists:
        counts.append(max(finalists, math.ceil(counts[-1] / 2)))
    found = []
    for index, _ in enumerate(counts):
        last = index == len(counts) - 1
        share = (index + 1) / len(counts)
        some = max(min(2, len(workloads)), math.ceil(share * len(workloads) / 2))
        found.append(
            Rung(
                index=index,
                workloads=tuple(workloads if last else workloads[:some]),
                samples=samples if last else min(samples, max(LEAST_SAMPLES, math.ceil(samples * share / 2))),
                seeds=seeds if last else 1,
                keep=1 if last else counts[index + 1],
            )
        )
    return found


def run(
    candidates: Sequence[int],
    rounds: Sequence[Rung],
    measure: Callable[[int, Rung], Trial],
    report: Callable[[str], None],
) -> tuple[int | None, list[Trial]]:
    """Measure candidates round by round; returns the best of the last round (None when all dropped out) and all trials.

    Ties go to the earlier candidate, so that equal scores give the same winner.
    """
    alive = list(candidates)
    trials: list[Trial] = []
    best: int | None = None
    for rung in rounds:
        measured = [measure(candidate, rung) for candidate in alive]
        trials += measured
        scored = [trial for trial in measured if trial.score is not None]
        scored.sort(key=lambda trial: (-float(trial.score or 0.0), trial.candidate))
        dropped = len(measured) - len(scored)
        lead = f"best {scored[0].score:.3f}x" if scored else "none left"
        report(f"round {rung.index + 1}/{len(rounds)}: {len(measured)} tried, {dropped} dropped, {lead}")
        if not scored:
            return None, trials
        best = scored[0].candidate
        alive = [trial.candidate for trial in scored[: rung.keep]]
    return best, trials
