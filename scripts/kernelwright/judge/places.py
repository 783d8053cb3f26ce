"""Whose machine code a kernel's process runs, seen from outside: it is stopped at random moments, and the kernel tells
where each of its threads stood. Nothing in the process can answer in its place, and no thread is left out.
"""

from __future__ import annotations

import bisect
import math
import secrets
import sys
import time
from collections import Counter
from pathlib import Path

from kernelwright.judge.subject import MAX_CALLS, MAX_STAGED_BYTES, Subject
from kernelwright.sandbox import processes

LOOKS, MOST_LOOKS = 60, 400
LEAST_LOOKS = 15  # in compute, for a share to be told
LONGEST_S, LONGEST_PAUSE_S = 2.0, 0.05
PAUSE_US = (50, 500)
CHANCE = 0.01
BATCH_NS = 100_000_000
LIBRARY_NAMES = ("libtorch_cpu", "libmkl", "libopenblas", "libblas", "libcblas", "liblapack", "libdnnl", "libiomp5md")
NEUTRAL_NAMES = ("libtorch_python", "libc10", "libshm", "libgomp", "libiomp", "libtorch.", "libtorch_global", "_C.")


def whose(path: str) -> str:
    """`own`, `library` or `other` (Python, the C library, waiting) for the file that code was mapped from."""
    name = path.rpartition("/")[2]
    if name.startswith(LIBRARY_NAMES):
        return "library"
    if not path or path.startswith("["):  # libraries make code in memory too: that is nobody's
        return "other"
    if "/site-packages/" in path or "/dist-packages/" in path:
        return "other" if name.startswith(NEUTRAL_NAMES) else "library"
    machine = ("/usr/", "/lib", "/opt/", sys.prefix + "/", sys.base_prefix + "/")
    return "other" if path.startswith(machine) else "own"  # what was built


def code_map(pid: int) -> tuple[list[int], list[tuple[int, str]]]:
    """Starts of the executable parts of a process's memory in order; end and file of each."""
    starts, parts = [], []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        if "x" in fields[1]:
            start, end = (int(item, 16) for item in fields[0].split("-"))
            starts.append(start)
            parts.append((end, fields[5] if len(fields) > 5 else ""))
    return starts, parts


def stand(task: Path) -> int | None:
    """Where a thread of a stopped process stands; None where that cannot be told."""
    try:
        fields = (task / "syscall").read_text().split()
    except OSError:
        return None
    return int(fields[-1], 16) if len(fields) > 1 else None


def worked_ns(pid: int) -> dict[Path, int]:
    """Nanoseconds that each thread has run."""
    found = {}
    for path in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found[path] = int((path / "schedstat").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            continue
    return found


def look(subject: Subject) -> Counter[str]:
    """Moments in code by `whose`, while the prepared kernel is called on set 0 again and again."""
    assert subject.sets is not None
    worker, found = subject.worker, Counter[str]()
    most = min(MAX_CALLS, MAX_STAGED_BYTES // subject.sets.set_bytes())
    calls = max(1, min(most, int(BATCH_NS / max(subject.warm_up(2), 1000))))
    message = {"op": "batch", "sets": [0] * calls}
    looks, end = 0, time.monotonic() + LONGEST_S
    while (looks < LOOKS or (compute(found) < LEAST_LOOKS and looks < MOST_LOOKS)) and time.monotonic() < end:
        subject.restore()
        before = worked_ns(worker.pid)
        worker.post(message)
        while not worker.channel.pending() and time.monotonic() < end + subject.call_timeout_s:
            wait_for_work(subject, before)
            worker.stop()
            if not worker.channel.pending():
                after = worked_ns(worker.pid)
                found.update(owners(worker.pid, [task for task, ns in after.items() if ns > before.get(task, 0)]))
                before, looks = after, looks + 1
            processes.resume(worker.pid)
        worker.finish(message, subject.call_timeout_s * calls)
        worker.stop()
    return found


def wait_for_work(subject: Subject, before: dict[Path, int]) -> None:
    """Until the process has run for a random time: on a busy machine it has to wait for its turn."""
    wanted = sum(before.values()) + 1000 * secrets.SystemRandom().randint(*PAUSE_US)
    end = time.monotonic() + LONGEST_PAUSE_S
    while not subject.worker.channel.pending() and time.monotonic() < end:
        time.sleep(PAUSE_US[0] / 1e6)
        if sum(worked_ns(subject.worker.pid).values()) >= wanted:
            return


def owners(pid: int, tasks: list[Path]) -> list[str]:
    """Whose code the threads stand in."""
    starts, parts = code_map(pid)
    found = []
    for address in filter(None, map(stand, tasks)):
        index = bisect.bisect_right(starts, address) - 1
        if index >= 0 and address < parts[index][0]:
            found.append(whose(parts[index][1]))
    return found


def compute(found: Counter[str]) -> int:
    return found["own"] + found["library"]


def own_share(found: Counter[str]) -> float | None:
    """Share of the moments in compute that were in the kernel's own code; None where there were too few."""
    return found["own"] / compute(found) if compute(found) >= LEAST_LOOKS else None


def mostly_library(found: Counter[str]) -> bool:
    """More than chance would show if half of the compute were the kernel's own."""
    count, own = compute(found), found["own"]
    return sum(math.comb(count, number) for number in range(own + 1)) < CHANCE * 2**count
