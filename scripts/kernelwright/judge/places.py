"""Whose machine code a kernel's process runs, seen from outside: it is stopped at random moments, and the kernel tells
where each of its threads stood. Nothing in the process can answer in its place, and no thread is left out.
"""

from __future__ import annotations

import bisect
import secrets
import sys
import time
from collections import Counter
from pathlib import Path

from kernelwright.judge.subject import MAX_CALLS, MAX_STAGED_BYTES, Subject
from kernelwright.sandbox import processes

LOOKS, MOST_LOOKS = 60, 400
LEAST_LOOKS = 15  # in compute, for a share to be told
LONGEST_S = 2.0
PAUSE_US = (200, 1200)
BATCH_NS = 100_000_000
LIBRARY_NAMES = ("libtorch_cpu", "libmkl", "libopenblas", "libblas", "libcblas", "liblapack", "libdnnl", "libiomp5md")
NEUTRAL_NAMES = ("libtorch_python", "libc10", "libshm", "libgomp", "libiomp", "libtorch.", "libtorch_global", "_C.")


def whose(path: str) -> str:
    """`own`, `library` or `other` (Python, the C library, waiting) for the file that code was mapped from."""
    name = path.rpartition("/")[2]
    if name.startswith(LIBRARY_NAMES):
        return "library"
    if path.startswith(("[vdso", "[vsyscall", "[stack")):
        return "other"
    if "/site-packages/" in path or "/dist-packages/" in path:
        return "other" if name.startswith(NEUTRAL_NAMES) else "library"
    machine = ("/usr/", "/lib", "/opt/", sys.prefix + "/", sys.base_prefix + "/")
    return "other" if path.startswith(machine) else "own"  # what was built, and code made in memory


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


def instructions(pid: int) -> list[int]:
    """Where each thread of a stopped process stands."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/syscall"):
        try:
            fields = path.read_text().split()
        except OSError:
            continue
        if len(fields) > 1:
            found.append(int(fields[-1], 16))
    return found


def look(subject: Subject) -> Counter[str]:
    """Moments in code by `whose`, while the prepared kernel is called on set 0 again and again."""
    assert subject.sets is not None
    worker, found, random = subject.worker, Counter[str](), secrets.SystemRandom()
    calls = max(
        1, min(MAX_CALLS, int(BATCH_NS / max(subject.warm_up(2), 1000)), MAX_STAGED_BYTES // subject.sets.set_bytes())
    )
    message = {"op": "batch", "sets": [0] * calls}
    looks, end = 0, time.monotonic() + LONGEST_S
    while (looks < LOOKS or (compute(found) < LEAST_LOOKS and looks < MOST_LOOKS)) and time.monotonic() < end:
        subject.restore()
        worker.post(message)
        while not worker.channel.pending():
            time.sleep(random.randint(*PAUSE_US) / 1e6)
            worker.stop()
            if not worker.channel.pending():
                found.update(owners(worker.pid))
                looks += 1
            processes.resume(worker.pid)
            if time.monotonic() > end + subject.call_timeout_s:
                break
        worker.finish(message, subject.call_timeout_s * calls)
        worker.stop()
    return found


def owners(pid: int) -> list[str]:
    starts, parts = code_map(pid)
    found = []
    for address in instructions(pid):
        index = bisect.bisect_right(starts, address) - 1
        if index >= 0 and address < parts[index][0]:
            found.append(whose(parts[index][1]))
    return found


def compute(found: Counter[str]) -> int:
    return found["own"] + found["library"]


def own_share(found: Counter[str]) -> float | None:
    """Share of the moments in compute that were in the kernel's own code; None where there were too few."""
    return found["own"] / compute(found) if compute(found) >= LEAST_LOOKS else None
