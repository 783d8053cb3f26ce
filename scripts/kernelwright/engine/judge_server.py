"""The judge server of a run: a child that keeps torch warm and devices exclusive for all jobs of the run."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kernelwright import cli
from kernelwright.engine import processes

SOCKET_VARIABLE = "KERNELWRIGHT_JUDGE_SOCKET"
START_TIMEOUT_S = 60


@contextlib.contextmanager
def running(log: Path, wanted: bool = True) -> Iterator[dict[str, str]]:
    """Start the server; yields the environment that leads jobs to it, {} when it did not come up (and says so)."""
    if not wanted:
        yield {}
        return
    # A unix socket's path has about 100 characters, so it does not lie under results.
    with tempfile.TemporaryDirectory(prefix="kwj-", ignore_cleanup_errors=True) as folder:
        socket = Path(folder) / "judge.sock"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as stream:
            server = subprocess.Popen(
                [sys.executable, "-m", "kernelwright.judge", "serve", "--socket", str(socket)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=cli.die_with_parent,  # noqa: PLW1509 - the driver has one thread
            )
        try:
            up = _wait(server, socket)
            if not up:
                print(f"kernelwright: no judge server (see {log}); each job judges by itself", flush=True)
            yield {SOCKET_VARIABLE: str(socket)} if up else {}
        finally:
            processes.end_tree(server.pid)
            server.wait()


def _wait(server: subprocess.Popen[bytes], socket: Path) -> bool:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and server.poll() is None:
        if socket.exists():
            return True
        time.sleep(0.02)
    return False
