"""Hardware and software counters of a CPU kernel by Linux perf; only the calls of the kernel are counted.

`perf stat --delay -1` starts with counting off; the process turns it on around its calls through a control file
(perf-stat(1), --control). A counter that the machine does not have, as in most virtual machines, is unknown.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kernelwright.errors import KernelwrightError
from kernelwright.profilers import tools
from kernelwright.profilers.base import Sections, Target, metric, ratio

NAME = "perf"
VENDORS = ("cpu",)
EVENTS = (
    "cycles", "instructions", "branches", "branch-misses", "cache-references", "cache-misses", "task-clock", "page-faults",
    "context-switches",
)  # fmt: skip
CALLS = 20
PROBE_S = 20.0
UNKNOWN = ("<not supported>", "<not counted>")


def availability() -> tuple[bool, str]:
    """Whether perf is here and the machine has hardware counters; a virtual machine seldom shows any."""
    path = tools.found("perf")
    if path is None:
        return False, "perf is not on PATH: apt-get install linux-perf"
    with tempfile.TemporaryDirectory(prefix="kernelwright-perf-") as folder:
        output = Path(folder) / "perf.csv"
        try:
            tools.run([path, "stat", "-x", ",", "-e", "cycles", "-o", str(output), "true"], Path(folder), PROBE_S)
            counts = read(output)
        except KernelwrightError as error:
            return False, str(error)
    return (True, path) if counts.get("cycles") is not None else (False, "this machine shows no hardware counters")


def measure(target: Target) -> Sections:
    """Counters per call. Raises KernelwrightError when perf may not count at all."""
    program = tools.found("perf")
    if program is None:
        raise KernelwrightError(availability()[1])
    control, answers, output = (target.folder / name for name in ("perf-control", "perf-answers", "perf.csv"))
    for path in (control, answers):
        os.mkfifo(path)
    child = [*target.command(sys.executable), "--calls", str(CALLS), "--control", str(control)]
    child += ["--acknowledge", str(answers)]
    flags = ["stat", "--delay", "-1", "--control", f"fifo:{control},{answers}", "-x", ",", "-e", ",".join(EVENTS)]
    tools.run([program, *flags, "-o", str(output), "--", *child], target.folder, target.timeout_s)
    return {"metrics": metrics(read(output), CALLS)}


def read(path: Path) -> dict[str, float | None]:
    """Event -> count of a `perf stat -x,` file. Raises KernelwrightError when it has none."""
    found: dict[str, float | None] = {}
    for line in path.read_text().splitlines():
        fields = line.split(",")
        if line.startswith("#") or len(fields) < 3:
            continue
        event = fields[2].split(":")[0]
        try:
            found[event] = None if fields[0] in UNKNOWN else float(fields[0])
        except ValueError:
            raise KernelwrightError(f"{path}: {event}: {fields[0]!r} is not a count") from None
    if not found:
        raise KernelwrightError(f"{path}: perf counted nothing")
    return found


def metrics(counts: Mapping[str, float | None], calls: int) -> dict[str, dict[str, object]]:
    """Metrics per call; null where the machine has no such counter."""

    def each(name: str) -> float | None:
        value = counts.get(name)
        return None if value is None else value / calls

    note = "perf, all threads, per call"
    return {
        "instructions_per_cycle": metric(ratio(counts.get("instructions"), counts.get("cycles")), "1", "perf"),
        "instructions_per_call": metric(each("instructions"), "1", note),
        "branch_miss_share": metric(ratio(counts.get("branch-misses"), counts.get("branches")), "ratio", "perf"),
        "cache_miss_share": metric(ratio(counts.get("cache-misses"), counts.get("cache-references")), "ratio", "perf"),
        "processor_time_us": metric(
            None if each("task-clock") is None else (each("task-clock") or 0) * 1e3, "us", note
        ),
        "context_switches_per_call": metric(each("context-switches"), "1", note),
    }
