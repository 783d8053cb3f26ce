"""What a candidate may use, by evidence from its running process. The text alone is judged in contract.py."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelwright.judge import answers, places
from kernelwright.judge.contract import FRAMEWORK_PACKAGES, OTHER_PACKAGES
from kernelwright.judge.faults import Fault
from kernelwright.judge.subject import Subject
from kernelwright.sandbox import processes

PROFILED_CALLS = 5
LIBRARY_SHARE = 0.05  # library operators that move little data beside real work stay below this
# ATen operators that allocate, view or describe, and compute nothing.
BOOKKEEPING = {
    "empty",
    "empty_strided",
    "empty_like",
    "new_empty",
    "new_empty_strided",
    "view",
    "as_strided",
    "reshape",
    "_reshape_alias",
    "detach",
    "detach_",
    "expand",
    "permute",
    "transpose",
    "t",
    "slice",
    "select",
    "unsqueeze",
    "squeeze",
    "alias",
    "contiguous",
    "resolve_conj",
    "resolve_neg",
    "resize_",
    "narrow",
    "flatten",
    "unflatten",
    "chunk",
    "split",
    "unbind",
    "lift_fresh",
    "to",
    "is_nonzero",
    "item",
    "_local_scalar_dense",
    "result_type",
    "set_",
    "view_as",
    "_unsafe_view",
    "movedim",
}
QUIET_S, WATCHED_S, BUSY_SHARE = 0.03, 0.04, 0.5


def profile(subject: Subject) -> dict[str, Any]:
    """Self time by operator of a few calls of the prepared kernel on set 0."""
    subject.restore()
    reply = subject.worker.ask({"op": "profile", "calls": PROFILED_CALLS}, subject.call_timeout_s * PROFILED_CALLS)
    subject.worker.stop()
    with subject.answered():
        return answers.profile(reply)
    raise AssertionError


def attribution(rows: list[Any]) -> tuple[float | None, dict[str, float]]:
    """Share of time outside library operators, and microseconds per library operator that computes."""
    total = 0.0
    library: dict[str, float] = {}
    for name, micros, _ in rows:
        total += float(micros)
        operator = str(name).removeprefix("aten::")
        if str(name).startswith("aten::") and operator not in BOOKKEEPING:
            library[operator] = library.get(operator, 0.0) + float(micros)
    return (max(0.0, 1 - sum(library.values()) / total) if total > 0 else None), library


def judge(
    reply: dict[str, Any],
    framework: str | None,
    mode: str,
    attribute: Callable[[list[Any]], tuple[float | None, dict[str, float]]] = attribution,
    seen: Counter[str] | None = None,
) -> tuple[float | None, list[str]]:
    """own_share and evidence. Raises Fault in production mode for library compute and other frameworks.

    `reply` is the process's own account, which a kernel could have forged; `seen` is what places.look saw from outside.
    """
    own_share, library = attribute(reply["rows"])
    top = sorted(library.items(), key=lambda item: -item[1])[:6]
    total = sum(library.values())
    evidence = [
        f"library operators: {', '.join(f'{name} {micros / max(total, 1e-9):.0%}' for name, micros in top) or 'none'}"
    ]
    watched = places.own_share(seen) if seen is not None else None
    if seen is not None:
        evidence.append(
            f"seen from outside: {seen['own']} moments in own code, {seen['library']} in libraries, "
            f"{seen['other']} elsewhere"
        )
    if mode == "production":
        foreign = sorted(
            (set(reply["modules"]) & OTHER_PACKAGES - {"triton", "scipy"})
            - FRAMEWORK_PACKAGES.get(framework or "", set())
        )
        if foreign:
            raise Fault(
                "other_framework", f"{', '.join(foreign)} was loaded, which is not {framework or 'the framework'}"
            )
        if own_share is not None and 1 - own_share > LIBRARY_SHARE:
            raise Fault(
                "library_fallback",
                f"{1 - own_share:.0%} of the time is in library operators ({', '.join(name for name, _ in top)})",
            )
        if seen is not None and places.mostly_library(seen):
            share = seen["library"] / places.compute(seen)
            raise Fault("library_fallback", f"seen from outside, {share:.0%} of the compute is in libraries' code")
    return own_share if watched is None else watched, evidence


def native_files(pid: int) -> set[str]:
    """Native code that a process has mapped, read from outside."""
    try:
        text = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return set()
    return {
        line.split(maxsplit=5)[5] for line in text.splitlines() if len(line.split(maxsplit=5)) == 6 and " r-xp " in line
    }


def foreign_files(before: set[str], after: set[str], own: tuple[str, ...]) -> list[str]:
    """Native files loaded since, that are neither the machine's nor Python's nor built in one of the `own` folders."""
    homes = ("/usr/", "/lib", "/opt/", "[", sys.prefix, sys.base_prefix, *own)
    built = re.compile(
        r"^/(?:extensions|tmp|home|triton|inductor|cache)/"
    )  # paths as the child's own mounts print them
    return sorted(
        path
        for path in after - before
        if path.startswith("/")
        and not path.startswith(homes)
        and not built.match(path)
        and not path.startswith(("/memfd:", "/dev/"))
    )


def check_background(subject: Subject) -> None:
    """No process beside the kernel's own, and no thread that works when nothing was asked. Raises Fault."""
    others = subject.worker.others()
    if others:
        raise Fault("background_work", f"the kernel left {len(others)} process(es) running", subject.worker.log())
    processes.resume(subject.worker.pid)
    time.sleep(QUIET_S)
    before, start = runnable_seconds(subject.worker.pid), time.perf_counter()
    time.sleep(WATCHED_S)
    busy = (runnable_seconds(subject.worker.pid) - before) / (time.perf_counter() - start)
    subject.worker.stop()
    if busy > BUSY_SHARE:
        raise Fault(
            "background_work", "a thread of the kernel was at work while nothing was asked of it", subject.worker.log()
        )


def runnable_seconds(pid: int) -> float:
    """Seconds in which the threads of a process ran or waited for a core: on a busy machine both are work."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += sum(map(int, path.read_text().split()[:2]))
        except (OSError, ValueError):
            continue
    return total / 1e9
