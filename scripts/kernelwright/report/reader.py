"""Artifacts that may not be there yet, and the one mean that ratios are summarised by."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kernelwright import artifacts, paths


class Reader:
    """Reads artifacts of one campaign and remembers which were missing."""

    def __init__(self, campaign: paths.Campaign) -> None:
        self.campaign = campaign
        self.missing: list[str] = []

    def optional(self, path: Path, kind: str) -> dict[str, Any] | None:
        """An artifact, None when it is not there or a stop left it unrun. Raises InputError when it is not valid."""
        if not path.exists() or artifacts.is_pass_through(path):
            return None
        return artifacts.read(path, kind)

    def expected(self, path: Path, kind: str) -> dict[str, Any] | None:
        record = self.optional(path, kind)
        if record is None:
            self.missing.append(str(path.relative_to(self.campaign.root)))
        return record


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Geometric mean of the known positive values; None when there is none."""
    known = [value for value in values if value is not None and value > 0]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None
