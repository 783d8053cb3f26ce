"""Does a kernel remember results? In secret rounds all inputs are built anew; the rounds after one derive from its values.

A kernel that remembers anything by the content of its inputs is slower on values that it has not seen. Each fresh round
is compared with those that follow it, in pairs with another kernel's times where there is one, so that values which
are dear by themselves, or a busy machine, do not count.
"""

from __future__ import annotations

import math
import secrets
import statistics
from dataclasses import dataclass

from kernelwright.judge.faults import Fault
from kernelwright.judge.request import CONTENDERS

SHARE = 6  # one round in this many
LEAST_GROUPS = 3
LEAST_EXCESS = 0.08  # of the logarithm of the time: less is not called remembering
ERRORS = 5.0  # standard errors that the excess must exceed


@dataclass
class Round:
    """Mean microseconds per call by contender; `fresh`: on values that were built anew."""

    means_us: dict[str, float]
    fresh: bool = False

    def score(self) -> float:
        """Logarithm of the candidate's time over the others'."""
        labels = [label for label in self.means_us if label in CONTENDERS] or [*self.means_us.keys() - {"candidate"}]
        others = [math.log(self.means_us[label]) for label in labels]
        return math.log(self.means_us["candidate"]) - (statistics.fmean(others) if others else 0.0)


def fresh_rounds(rounds: int) -> set[int]:
    """Secret rounds, never the first, the last, or two in a row."""
    places = list(range(1, rounds - 1))
    secrets.SystemRandom().shuffle(places)
    found: set[int] = set()
    for place in places:
        if len(found) < max(1, rounds // SHARE) and not {place - 1, place + 1} & found:
            found.add(place)
    return found


def excess(rounds: list[Round]) -> tuple[float, float, int]:
    """How much slower fresh rounds were than those after them, in logarithms; its standard error; fresh rounds."""
    groups: list[list[Round]] = []
    for item in rounds:
        if item.fresh:
            groups.append([])
        if groups:
            groups[-1].append(item)
    kept = [group for group in groups if len(group) > 1]
    if len(kept) < LEAST_GROUPS:
        return 0.0, math.inf, len(kept)
    later = [statistics.median(item.score() for item in group[1:]) for group in kept]
    gaps = [group[0].score() - base for group, base in zip(kept, later, strict=True)]
    noise = [item.score() - base for group, base in zip(kept, later, strict=True) for item in group[1:]]
    spread = max(statistics.stdev(gaps), statistics.pstdev(noise))
    return statistics.fmean(gaps), spread / math.sqrt(len(gaps)), len(kept)


def check(rounds: list[Round]) -> None:
    """Raises Fault where new values cost more than can be chance."""
    found, error, count = excess(rounds)
    if found > LEAST_EXCESS and found > ERRORS * error:
        raise Fault(
            "memoised",
            f"{math.expm1(found):.0%} slower on values never seen before than on values derived from them "
            f"({count} comparisons): it remembers results",
        )
