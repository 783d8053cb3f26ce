"""One run per results folder, and a stale lock of Snakemake removed only when its owner is dead."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from kernelwright.errors import InputError, KernelwrightError

LOCK_NAME = ".kernelwright.lock"


class Busy(KernelwrightError):
    """Another run works in the same results folder."""


@contextlib.contextmanager
def exclusive(results: Path) -> Iterator[None]:
    """Hold the results folder for one run. The kernel drops the lock with the process, so it is never stale.

    Raises Busy, saying who holds it, and InputError when nothing can be written there.
    """
    path = results / LOCK_NAME
    owner = path.with_suffix(".owner.json")
    lock = FileLock(path)
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise Busy(f"{results}: another run holds it ({_owner(owner)}); wait for it or give --results") from None
    except OSError as error:
        raise InputError(f"results: {results} is no folder that can be written ({error.strerror})") from None
    try:
        now = datetime.now().isoformat(sep=" ", timespec="seconds")
        owner.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now}) + "\n")
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def held(results: Path) -> bool:
    """True while a run works in the results folder."""
    path = results / LOCK_NAME
    if not path.exists():
        return False
    probe = FileLock(path)
    try:
        probe.acquire(timeout=0)
    except Timeout:
        return True
    probe.release()
    return False


def _owner(path: Path) -> str:
    try:
        facts = json.loads(path.read_text())
        return f"process {facts['pid']} on {facts['host']}, since {facts['since']}"
    except (OSError, ValueError, KeyError):
        return "process unknown"


def unlock_stale(directory: Path) -> bool:
    """Remove Snakemake's lock files in `directory` when no live Snakemake works there; True when some were removed.

    The caller holds `exclusive`, so only a Snakemake that a person started by hand could own them.
    """
    locks = list((directory / ".snakemake" / "locks").glob("*.lock"))
    if not locks or snakemake_in(directory):
        return False
    for path in locks:
        path.unlink(missing_ok=True)
    return True


def snakemake_in(directory: Path) -> list[int]:
    """Process ids of other live Snakemake processes whose working directory is `directory`."""
    import psutil

    here = directory.resolve()
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        if not any("snakemake" in word or "kernelwright.engine.workflow" in word for word in words[:6]):
            continue
        cwd = process.info["cwd"]
        if cwd and Path(cwd) == here and process.info["pid"] != os.getpid():
            found.append(process.info["pid"])
    return found
