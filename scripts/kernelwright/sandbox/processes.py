"""Stop, watch and end processes from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def state(pid: int) -> str:
    """One letter of /proc/PID/stat (R, S, T, Z...); X when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return "X"


def stop(pid: int, patience_s: float = 1.0) -> bool:
    """SIGSTOP and wait until the process has stopped; False when it is gone or does not stop in time."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + patience_s
    while (letter := state(pid)) not in "TtXZ":
        if time.monotonic() > deadline:
            return False
    return letter in "Tt"


def resume(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def descendants(pid: int) -> list[int]:
    """Process ids below `pid`, zombies left out, deepest last."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        for child in children(current):
            waiting.append(child)
            if state(child) not in "ZX":
                found.append(child)
    return found


def children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        with contextlib.suppress(OSError):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return found


def kill_now(pid: int) -> None:
    """SIGKILL to a process and everything below it, without waiting for their end."""
    for member in (*descendants(pid), pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(member, signal.SIGKILL)


def kill_tree(pid: int, patience_s: float = 2.0) -> None:
    """SIGKILL to a process and everything below it, until nothing new appears and all of it has ended."""
    deadline = time.monotonic() + patience_s
    seen: set[int] = set()
    while True:
        family = [*descendants(pid), pid]
        for member in family:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member, signal.SIGKILL)
        seen.update(family)
        if all(state(member) in "XZ" for member in seen) or time.monotonic() > deadline:
            return
        time.sleep(0.001)
