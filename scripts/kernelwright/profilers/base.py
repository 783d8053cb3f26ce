"""What a profiler gets and gives. A device's tool adds sections to the profile that torch.profiler starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Metric = dict[str, Any]
Sections = dict[str, Any]  # metrics, roofline, stalls, occupancy, traffic, instruction_mix, hot: keys of profile.json


@dataclass(frozen=True)
class Target:
    """A kernel and what it is run on; `folder` is scratch space of the tool."""

    operator_dir: Path
    kernel: Path
    workload: str
    vendor: str
    facts: Mapping[str, Mapping[str, Any]]
    folder: Path
    timeout_s: float

    def command(self, python: str) -> list[str]:
        """The process that a tool watches: it calls the kernel a few times and marks the region."""
        where = ["--operator-dir", str(self.operator_dir), "--kernel", str(self.kernel), "--workload", self.workload]
        device = "cpu" if self.vendor == "cpu" else "cuda"
        return [python, "-m", "kernelwright.profilers.once", *where, "--device", device]


class Profiler(Protocol):
    """Interface of a profiler module or plugin object."""

    NAME: str
    VENDORS: tuple[str, ...]

    def availability(self) -> tuple[bool, str]:
        """Whether the tool can run here; the sentence says what is missing."""

    def measure(self, target: Target) -> Sections:
        """Run the tool. Raises KernelwrightError with one line when it fails."""


def metric(value: float | None, unit: str, note: str | None = None) -> Metric:
    """One metric of a profile; None is unknown."""
    return {"value": value, "unit": unit, **({"note": note} if note else {})}


def ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def percent(value: float | None) -> float | None:
    return None if value is None else value / 100


def shares(parts: Mapping[str, float], name: str, least: float = 0.001) -> list[dict[str, Any]]:
    """Parts of a whole as shares, the largest first; those below `least` are left out."""
    total = sum(parts.values())
    ordered = sorted(((key, value / total) for key, value in parts.items() if total), key=lambda item: -item[1])
    return [{name: key, "share": round(share, 6)} for key, share in ordered if share >= least]
