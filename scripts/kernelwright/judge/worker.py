"""The service's side of one child process: questions, the clock, stopping it, reading its memory, ending it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelwright.errors import KernelwrightError
from kernelwright.judge import protocol
from kernelwright.judge.faults import Fault
from kernelwright.judge.protocol import Channel, Closed, Malformed, TimedOut
from kernelwright.sandbox import linux, processes, walls

LOG_CHARS = 8000
PROFILER_NOISE = "USDT:"  # what torch's profiler prints of itself
START_TIMEOUT_S = 120.0
GRACE_S = 0.02


class JudgeBroken(KernelwrightError):
    """The judge's own processes do not work; nothing can be said about a kernel."""


class Zygote:
    """The forking server. Ends, with all it forked, when its socket closes."""

    def __init__(self) -> None:
        ours, theirs = protocol.pair()
        self.root = tempfile.mkdtemp(prefix="kernelwright-judge-")
        package_parent = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [package_parent, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kernelwright.judge.zygote", str(theirs.fileno()), self.root],
            pass_fds=[theirs.fileno()],
            # OpenMP threads that wait give their core away after some 10 us: on a busy machine, longer spinning makes a
            # parallel region cost whole time slices, and that noise hides real differences.
            env={"GOMP_SPINCOUNT": "10000", **os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        self.builds = os.path.join(self.root, "builds")
        os.mkdir(self.builds)
        os.mkdir(os.path.join(self.root, "build"), 0o700)  # walls.build_mount of every worker
        self.channel = Channel(ours)
        self.ready = False
        self.count = 0

    def wait_ready(self) -> None:
        if not self.ready:
            try:
                self.channel.receive(START_TIMEOUT_S)
            except (Closed, TimedOut) as error:
                raise JudgeBroken(f"the judge's forking process did not start ({type(error).__name__})") from None
            self.ready = True

    def alive(self) -> bool:
        return self.process.poll() is None

    def ended(self, grace_s: float) -> bool:
        """True when it has ended, or does so within `grace_s`."""
        try:
            self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def build_folder(self, sha256: str) -> str:
        """Compile caches of one source text; they live as long as this judge, so that a kernel is built once."""
        folder = os.path.join(self.builds, sha256)
        os.makedirs(folder, exist_ok=True)
        return folder

    def fork(self, role: str, config: dict[str, Any], **limits: Any) -> Worker:
        """A new worker. `limits` are hidden, build and bound_memory of walls.Plan."""
        self.wait_ready()
        self.count += 1
        private = os.path.join(self.root, f"{role}-{self.count:05d}")
        os.mkdir(private, 0o700)
        ours, theirs = protocol.pair()
        log = os.memfd_create("kernelwright-log", os.MFD_CLOEXEC)
        message = {
            "role": role,
            "config": config,
            "private": private,
            "hidden": [],
            "build": None,
            "bound_memory": True,
            **limits,
        }
        try:
            reply, _ = self.channel.ask(message, [theirs.fileno(), log], START_TIMEOUT_S)
        except (Closed, TimedOut) as error:
            raise JudgeBroken(f"the judge's forking process is gone ({type(error).__name__})") from None
        finally:
            theirs.close()
        return Worker(ours, log, reply["pid"], private)

    def close(self) -> None:
        self.channel.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            processes.kill_tree(self.process.pid)
            self.process.wait()
        shutil.rmtree(self.root, ignore_errors=True)


class Worker:
    """One child: its supervisor's and its own process id, its channel and its log."""

    def __init__(self, sock: socket.socket, log: int, supervisor: int, private: str) -> None:
        self.channel = Channel(sock)
        self.log_fd = log
        self.supervisor = supervisor
        self.private = private
        self.build = walls.build_mount(private)
        self.closed = False
        self.on_close: Callable[[], None] | None = None
        self.settle: Callable[[], None] = lambda: None  # what this process wrote into shared memory is there
        try:
            hello, _ = self.channel.receive(START_TIMEOUT_S)
            self.pid, self.missing = int(hello["pid"]), list(hello["missing"])
        except (Closed, TimedOut, Malformed, KeyError) as error:
            text = self.log()
            self.close()
            raise JudgeBroken(f"a child of the judge did not start ({type(error).__name__}): {text[-500:]}") from None

    def ask(self, message: dict[str, Any], timeout_s: float, fds: tuple[int, ...] = ()) -> dict[str, Any]:
        """Question and answer with the child running only in between. Raises Fault when it crashes, hangs or raises."""
        reply, got = self.ask_fds(message, timeout_s, fds)
        protocol.close_all(got)
        return reply

    def ask_fds(
        self, message: dict[str, Any], timeout_s: float, fds: tuple[int, ...] = ()
    ) -> tuple[dict[str, Any], list[int]]:
        self._unasked()
        self.settle()
        processes.resume(self.pid)
        try:
            reply, got = self.channel.ask(message, fds, timeout_s)
        except (Closed, TimedOut, Malformed) as error:
            raise self._fault(error, message, timeout_s) from None
        return self._checked(reply), got

    def timed(self, data: bytes, timeout_s: float) -> tuple[dict[str, Any], int]:
        """Send an encoded message; the answer and the nanoseconds until it came. The child is stopped around it."""
        self._unasked()
        self.settle()
        start = time.perf_counter_ns()
        try:
            self.channel.send_bytes(data)
            processes.resume(self.pid)
            reply, got = self.channel.receive(timeout_s)
        except (Closed, TimedOut, Malformed) as error:
            raise self._fault(error, {"op": "batch"}, timeout_s) from None
        elapsed = time.perf_counter_ns() - start
        self.stop()
        protocol.close_all(got)
        return self._checked(reply), elapsed

    def post(self, message: dict[str, Any]) -> None:
        """A question whose answer `finish` takes later; the child works on it meanwhile."""
        processes.resume(self.pid)
        try:
            self.channel.send(message)
        except (Closed, TimedOut) as error:
            raise self._fault(error, message, 0.0) from None

    def begin(self, message: dict[str, Any], limit_s: float) -> dict[str, Any] | None:
        """A question whose answer may have to wait for something: None when it has not come within `limit_s`."""
        self._unasked()
        self.settle()
        processes.resume(self.pid)
        try:
            self.channel.send(message)
            return self._answer(limit_s)
        except TimedOut:
            return None
        except (Closed, Malformed) as error:
            raise self._fault(error, message, limit_s) from None

    def finish(self, message: dict[str, Any], limit_s: float) -> dict[str, Any]:
        """The answer to a question that was begun."""
        try:
            return self._answer(limit_s)
        except (Closed, TimedOut, Malformed) as error:
            raise self._fault(error, message, limit_s) from None

    def _answer(self, limit_s: float) -> dict[str, Any]:
        reply, got = self.channel.receive(limit_s)
        protocol.close_all(got)
        return self._checked(reply)

    def others(self) -> list[int]:
        """Processes that the child has started, also those that it has sent away from itself."""
        return [pid for pid in processes.descendants(self.supervisor) if pid != self.pid]

    def stop(self) -> None:
        """After this nothing in the process runs, its threads included."""
        if not processes.stop(self.pid):
            raise Fault("crashed", "the kernel's process ended on its own", self.log())

    def read(self, address: int, target: int, size: int) -> None:
        """Copy out of the child's memory. Raises Fault when the address is not the child's."""
        try:
            linux.read_memory(self.pid, address, target, size)
        except (OSError, ctypes.ArgumentError) as error:
            raise Fault(
                "protocol_error", f"an output lies at an address that cannot be read ({error})", self.log()
            ) from None

    def log(self) -> str:
        """What the child printed, cut to its last characters."""
        size = os.fstat(self.log_fd).st_size
        text = os.pread(self.log_fd, LOG_CHARS, max(0, size - LOG_CHARS)).decode(errors="replace")
        return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(PROFILER_NOISE))

    def closing(self) -> None:
        """What is to be kept of a child that has been killed."""
        keep, self.on_close = self.on_close, None
        if keep is not None:
            keep()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.channel.close()
        processes.kill_tree(self.supervisor)
        shutil.rmtree(self.private, ignore_errors=True)
        self.closing()
        with contextlib.suppress(OSError):
            os.close(self.log_fd)

    def _unasked(self) -> None:
        if self.channel.pending():
            try:
                reply, got = self.channel.receive(1.0)
                protocol.close_all(got)
            except (Closed, TimedOut, Malformed) as error:
                raise self._fault(error, {"op": "wait"}, 1.0) from None
            self._ended(reply)
            raise Fault("protocol_error", "the kernel's process answered without being asked", self.log())

    def _checked(self, reply: Any) -> dict[str, Any]:
        if not isinstance(reply, dict):
            raise Fault("protocol_error", "the kernel's process gave an answer of the wrong form", self.log())
        self._ended(reply)
        if "error" in reply:
            said, text = (reply[key] if isinstance(reply.get(key), str) else "" for key in ("error", "text"))
            reason = "compile_error" if reply.get("compile") is True else "raised"
            sentence = f"the kernel raised {said[:300] or 'an error without a text'}"
            raise Fault(reason, sentence, f"{text}\n{self.log()}"[:LOG_CHARS])
        return reply

    def _ended(self, reply: Any) -> None:
        if isinstance(reply, dict) and "exit" in reply:
            code = reply["exit"] if isinstance(reply["exit"], int) and abs(reply["exit"]) < 1 << 32 else "unknown"
            how = f"with signal {-code}" if isinstance(code, int) and code < 0 else f"with exit code {code}"
            raise Fault("crashed", f"the kernel's process ended {how} before it answered", self.log())

    def _fault(self, error: Exception, message: dict[str, Any], timeout_s: float) -> Fault:
        if isinstance(error, TimedOut):
            return Fault("timed_out", f"no answer to {message['op']} within {timeout_s:g} s", self.log())
        if isinstance(error, Malformed):
            return Fault("protocol_error", f"the kernel's process broke the protocol ({error})", self.log())
        return Fault("crashed", "the kernel's process ended before it answered", self.log())
