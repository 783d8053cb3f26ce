"""Settings by which a campaign's files are read when none are given: those that the last run left beside its results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright import config


def of_run(results: Path, given: Path | None = None) -> dict[str, Any]:
    """Settings of `given`, else of the running or last run in `results`, else the defaults. Raises InputError."""
    left = results / ".run" / "config.yaml"
    return config.load(given or (left if left.exists() else None))
