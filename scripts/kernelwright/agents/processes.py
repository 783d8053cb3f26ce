"""End every descendant of a session, also those that moved to their own process group or session."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Iterator

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
GRACE_S = 2.0


@contextlib.contextmanager
def reaped(pid: int) -> Iterator[None]:
    """While the block runs, orphans of the session become children of this process; after it, all of them are ended."""
    import psutil

    adopted = _become_subreaper(True)
    before = {child.pid for child in psutil.Process().children()} - {pid}
    try:
        yield
    finally:
        _end(pid, before, adopted)
        if adopted:
            _become_subreaper(False)


def _become_subreaper(on: bool) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    return ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, int(on)) == 0


def _members(pid: int, before: set[int], adopted: bool) -> list:
    """Processes of the session: the program, its descendants and, where orphans come to us, theirs."""
    import psutil

    roots = []
    with contextlib.suppress(psutil.NoSuchProcess):
        roots.append(psutil.Process(pid))
    if adopted:
        roots += [child for child in psutil.Process().children() if child.pid not in before and child.pid != pid]
    found = {}
    for root in roots:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.update({process.pid: process for process in [root, *root.children(recursive=True)]})
    return [process for process in found.values() if process.status() != psutil.STATUS_ZOMBIE]


def _end(pid: int, before: set[int], adopted: bool) -> None:
    """SIGTERM, a grace, then SIGKILL until none is left; orphans are waited for, the program is left to its Popen."""
    import psutil

    end = time.monotonic() + GRACE_S
    polite = True
    while members := _living(pid, before, adopted):
        for process in members:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate() if polite else process.kill()
        psutil.wait_procs([process for process in members if process.pid != pid], timeout=0.2)
        time.sleep(0.02)
        polite = time.monotonic() < end
    if adopted:
        _collect(pid, before)


def _living(pid: int, before: set[int], adopted: bool) -> list:
    import psutil

    while True:
        try:
            return _members(pid, before, adopted)
        except psutil.NoSuchProcess:  # one ended while it was looked at
            continue


def _collect(pid: int, before: set[int]) -> None:
    """Reap orphans that ended, but neither the program nor children that were there before."""
    import psutil

    for child in psutil.Process().children():
        if child.pid != pid and child.pid not in before:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.pid, os.WNOHANG)
