"""Ending processes: descendants of this one, and those that carry the mark of a run."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

import psutil

GRACE_S = 5.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_PARENT = os.getppid()


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, so that none of them is lost from sight (Linux)."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def is_orphan() -> bool:
    """True when this process's parent is no longer the one that started it."""
    return os.getppid() != _PARENT


def signal_when_parent_dies(number: int) -> None:
    """Have the kernel send this process a signal when its parent dies (Linux)."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    if is_orphan():  # it died before the call
        os.kill(os.getpid(), number)


def _send(processes: list[psutil.Process], kill: bool) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if kill:
                process.kill()
            else:
                process.terminate()


def _alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_tree(pid: int, grace_s: float = GRACE_S) -> None:
    """Terminate a child and all below it, wait `grace_s` seconds, kill what is left."""
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        seen = [root, *root.children(recursive=True)]
        if grace_s:
            _send(seen, kill=False)
            _, seen = psutil.wait_procs(seen, timeout=grace_s)
        _send(seen, kill=True)
        psutil.wait_procs(seen, timeout=GRACE_S)


def end_descendants(grace_s: float = GRACE_S) -> int:
    """Terminate every descendant of this process, wait `grace_s` seconds, kill what is left; returns how many were.

    Snakemake takes a lock in its SIGTERM handler that its main thread may hold, and then never exits: the kill is
    part of the design, and safe, since artifacts are written whole and its lock is removed by the next run.
    """
    me = psutil.Process()
    if grace_s:
        seen = me.children(recursive=True)
        _send(seen, kill=False)
        psutil.wait_procs(seen, timeout=grace_s)
    killed = 0
    while stubborn := _alive(me.children(recursive=True)):  # what a killed one leaves behind comes in the next round
        _send(stubborn, kill=True)
        psutil.wait_procs(stubborn, timeout=GRACE_S)
        killed += len(stubborn)
    return killed


def sweep(variable: str, value: str) -> int:
    """Kill every other process whose environment has `variable` = `value`; returns how many there were.

    For what a run left whose driver and guard were both killed. The caller holds the results folder that the value
    names, so no live run owns them.
    """
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(variable) == value:
                found.append(process)
    found = _alive(found)
    _send(found, kill=True)
    psutil.wait_procs(found, timeout=GRACE_S)
    return len(found)


class Tree:
    """What runs below one child of this process, and which of the child's own children (a step) each belongs to."""

    def __init__(self, child: int) -> None:
        self.child = child
        self.steps: dict[int, psutil.Process] = {}  # pid -> the step it was seen below

    def _note(self, step: psutil.Process) -> None:
        for process in [step, *step.children(recursive=True)]:
            self.steps.setdefault(process.pid, step)

    def end_orphans(self) -> None:
        """End the orphans that this process adopted from dead steps; one of a live step may be a helper of it."""
        with contextlib.suppress(psutil.Error):
            for step in psutil.Process(self.child).children():
                self._note(step)
        adopted = [process for process in psutil.Process().children() if process.pid != self.child]
        for process in adopted:
            step = self.steps.get(process.pid)
            with contextlib.suppress(psutil.Error, ChildProcessError):
                if process.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(process.pid, os.WNOHANG)
                elif step is not None and not step.is_running():
                    end_tree(process.pid, grace_s=0.0)
        running = {process.pid for process in psutil.Process().children(recursive=True)}
        self.steps = {pid: step for pid, step in self.steps.items() if pid in running}
