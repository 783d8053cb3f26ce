"""Ending processes: every descendant of this one, and nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import sys

import psutil

GRACE_S = 5.0
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, so that none of them is lost from sight (Linux)."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def _end(processes: list[psutil.Process], kill: bool) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if kill:
                process.kill()
            else:
                process.terminate()


def _tree(root: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return [root, *root.children(recursive=True)]
    return []


def end_tree(pid: int, grace_s: float = GRACE_S) -> None:
    """Terminate a child and all below it, wait `grace_s` seconds, kill what is left."""
    with contextlib.suppress(psutil.Error):
        seen = _tree(psutil.Process(pid))
        _end(seen, kill=False)
        _, alive = psutil.wait_procs(seen, timeout=grace_s)
        _end(alive, kill=True)
        psutil.wait_procs(alive, timeout=grace_s)


def end_descendants(grace_s: float = GRACE_S) -> int:
    """End every descendant of this process as `end_tree` does; returns how many had to be killed.

    Snakemake takes a lock in its SIGTERM handler that its main thread may hold, and then never exits: the kill is
    part of the design, and safe, since artifacts are written whole and its lock is removed by the next run.
    """
    me = psutil.Process()
    seen = me.children(recursive=True)
    _end(seen, kill=False)
    psutil.wait_procs(seen, timeout=grace_s)
    stubborn = [process for process in me.children(recursive=True) if process.status() != psutil.STATUS_ZOMBIE]
    _end(stubborn, kill=True)
    psutil.wait_procs(stubborn, timeout=grace_s)
    return len(stubborn)
