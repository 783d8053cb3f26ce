"""Successive halving: many candidates measured little, few measured well.

Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, AISTATS 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rung:
    """One round: how much each candidate is measured and how many go on."""

    index: int
    workloads: tuple[str, ...]
    depth: str
    samples: int
    keep: int


@dataclass(frozen=True)
class Trial:
    """One candidate in one round; score is a speedup (higher is better), None when it dropped out for `reason`."""

    candidate: int
    rung: int
    score: float | None
    reason: str | None
    facts: dict[str, Any]


def rungs(trials: int, finalists: int, workloads: Sequence[str], samples: int) -> list[Rung]:
    """Rounds for `trials` candidates: each keeps half, the last measures `finalists` on all workloads in full.

    `workloads` in the order of their weight: the first ones are measured in every round.
    """
    rounds = max(1, math.ceil(math.log2(max(1, trials / max(1, finalists))))) + 1 if trials > finalists else 1
    found = []
    for index in range(rounds):
        last = index == rounds - 1
        share = (index + 1) / rounds
        count = len(workloads) if last else max(min(2, len(workloads)), math.ceil(share * len(workloads) / 2))
        keep = 1 if last else max(finalists, math.ceil(trials / 2 ** (index + 1)))
        found.append(
            Rung(
                index=index,
                workloads=tuple(workloads[:count]),
                depth="correctness" if last else "smoke",
                samples=samples if last else max(5, math.ceil(samples * share / 2)),
                keep=finalists if index == rounds - 2 else keep,
            )
        )
    return found


def run(
    candidates: Sequence[int], rounds: Sequence[Rung], measure: Callable[[int, Rung], Trial], report: Callable[[str], None]
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
