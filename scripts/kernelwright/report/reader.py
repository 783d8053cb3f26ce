"""Artifacts that may not be there yet, and the one mean that ratios are summarised by."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kernelwright import artifacts, paths
from kernelwright.errors import InputError


class Reader:
    """Reads artifacts of one campaign, each once, and remembers which were missing."""

    def __init__(self, campaign: paths.Campaign) -> None:
        self.campaign = campaign
        self.missing: list[str] = []
        self._seen: dict[Path, dict[str, Any] | None] = {}

    def optional(self, path: Path, kind: str, checked: bool = True) -> dict[str, Any] | None:
        """An artifact, None when it is not there or a stop left it unrun. Raises InputError when it is not valid.

        `checked` False leaves out the schema, for the thousands of files of a long campaign: they were checked when
        they were written, and the report is checked against its own.
        """
        if path not in self._seen:
            self._seen[path] = self._read(path, kind, checked)
        return self._seen[path]

    def _read(self, path: Path, kind: str, checked: bool) -> dict[str, Any] | None:
        if not path.exists():
            return None
        record = artifacts.read_json(path)
        found = record.get("kind") if isinstance(record, dict) else None
        if found == artifacts.PASS_THROUGH:
            return None
        if found != kind:
            raise InputError(f"{path}: kind is {found!r}, expected {kind!r}")
        if checked:
            artifacts.validate(record, kind, path)
        return record

    def expected(self, path: Path, kind: str, checked: bool = True) -> dict[str, Any] | None:
        """Like `optional`, and a missing one is listed in `missing`."""
        record = self.optional(path, kind, checked)
        if record is None:
            self.missing.append(str(path.relative_to(self.campaign.root)))
        return record


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Geometric mean of the known positive values; None when there is none."""
    known = [value for value in values if value is not None and value > 0]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None
