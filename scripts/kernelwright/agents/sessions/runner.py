"""Run one CLI: read its events as they come, hold it to its budgets, end every process of it."""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kernelwright.agents import processes
from kernelwright.agents.sessions.reader import Reader
from kernelwright.agents.sessions.record import (
    COST,
    IDLE,
    KILLED,
    MISSING,
    NETWORK,
    TOKENS,
    TURNS,
    UNKNOWN,
    WALL,
    Failure,
    Tokens,
    failure,
)  # fmt: skip
from kernelwright.cli import die_with_parent

TICK_S = 0.25
LONGEST_LINE = 16 << 20  # bytes; a longer event is left out
STDERR_CHARS = 4000


@dataclass(frozen=True)
class Limits:
    """Budgets of one run; None is no limit. `tokens` is asked again and again: others spend from the same budget."""

    wall_s: float
    idle_s: float
    turns: int | None = None
    cost_usd: float | None = None
    tokens: Callable[[], int | None] = lambda: None
    busy: Callable[[], bool] = lambda: False  # a tool of the supervisor works: then silence is no hang


@dataclass(frozen=True)
class Ended:
    """How a run ended. `stopped` is what the supervisor ended it for, None when it ended by itself."""

    exit_code: int
    wall_s: float
    stderr: str
    stopped: Failure | None


def run(
    argv: list[str],
    folder: Path,
    environment: Mapping[str, str],
    reader: Reader,
    limits: Limits,
    keep: Callable[[str], None],
    changed: Callable[[], None],
    spent: Callable[[], Tokens | None],
) -> Ended:
    """Run `argv` in `folder`; no process of it is left afterwards.

    `keep` gets each line for the log, `changed` is called on every event and tick, `spent` tells the tokens so far.
    """
    start = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(
                argv, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=errors, start_new_session=True, preexec_fn=die_with_parent,  # noqa: PLW1509 - threads only wait
            )  # fmt: skip
        except OSError as error:
            return Ended(127, 0.0, "", Failure(MISSING, f"{argv[0]} cannot be started: {error.strerror}"))
        with processes.reaped(child.pid):
            stopped = _follow(child, start, reader, limits, keep, changed, spent)
        child.wait()
        errors.seek(max(0, errors.seek(0, 2) - STDERR_CHARS))
        return Ended(child.returncode, time.monotonic() - start, errors.read().decode(errors="replace"), stopped)


def _follow(
    child: subprocess.Popen[bytes],
    start: float,
    reader: Reader,
    limits: Limits,
    keep: Callable[[str], None],
    changed: Callable[[], None],
    spent: Callable[[], Tokens | None],
) -> Failure | None:
    """Feed events until the CLI ends its output or a limit is reached; returns that limit."""
    lines: queue.Queue[bytes | None] = queue.Queue(maxsize=1000)
    assert child.stdout is not None
    threading.Thread(target=_pump, args=(child.stdout, lines), daemon=True).start()
    heard = time.monotonic()
    while True:
        try:
            line = lines.get(timeout=TICK_S)
        except queue.Empty:
            line = b""
            if child.poll() is not None:  # ended while a process of its own still holds its output
                return None
        if line is None:
            return None
        if line or limits.busy():
            heard = time.monotonic()
        if line:
            take(line, reader, keep)
        changed()
        now = time.monotonic()
        stop = exceeded(reader, limits, now - start, now - heard, spent)
        if stop is not None:
            return stop


def _pump(stream: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    """Whole lines of the CLI, then None. Runs in a thread: a pipe cannot be read with a timeout."""
    with stream:
        while line := stream.readline(LONGEST_LINE):
            lines.put(line)
    lines.put(None)


def take(line: bytes, reader: Reader, keep: Callable[[str], None]) -> None:
    """One line of output: an event, or words that are no event and only kept."""
    text = line.decode(errors="replace").strip()
    if not text:
        return
    try:
        event = json.loads(text)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        keep(json.dumps({"event": "output", "text": text[:2000]}))
        return
    try:
        reader.feed(event)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        # Another release of the CLI may shape an event differently: the session goes on, its figures are incomplete.
        reader.complete = False
        keep(json.dumps({"event": "not understood", "error": f"{type(error).__name__}: {error}"}))
    if reader.keeps(event):
        keep(text)


def exceeded(
    reader: Reader, limits: Limits, wall_s: float, silent_s: float, spent: Callable[[], Tokens | None]
) -> Failure | None:
    """The first budget that is used up."""
    if wall_s > limits.wall_s:
        return Failure(WALL, f"the session ran longer than {limits.wall_s:.0f} s")
    if silent_s > limits.idle_s:
        return Failure(IDLE, f"the session said nothing for {limits.idle_s:.0f} s")
    if limits.turns is not None and reader.turns > limits.turns:
        return Failure(TURNS, f"the session took more than {limits.turns} turns")
    if limits.cost_usd is not None and (reader.cost_usd or 0.0) > limits.cost_usd:
        return Failure(COST, f"the session cost more than {limits.cost_usd} USD")
    allowed, used = limits.tokens(), spent()
    if allowed is not None and used is not None and used.total > allowed:
        return Failure(TOKENS, f"the session spent {used.total} tokens, {allowed} were left")
    return None


def verdict_on(reader: Reader, ended: Ended) -> Failure | None:
    """Why the run failed, None when it went well. Neither exit code nor stderr is trusted alone."""
    if ended.stopped is not None:
        return ended.stopped
    if reader.failure is not None:
        return reader.failure
    if reader.finished:
        return None
    said = next((line for line in reversed(ended.stderr.splitlines()) if line.strip()), "")
    if ended.exit_code < 0 or ended.exit_code > 128:
        return Failure(
            KILLED, f"the CLI was ended by signal {-ended.exit_code if ended.exit_code < 0 else ended.exit_code - 128}"
        )
    if not said:
        return Failure(
            NETWORK if ended.exit_code == 0 else UNKNOWN, f"the CLI ended with code {ended.exit_code} and no result"
        )
    return failure(f"exit code {ended.exit_code}: {said}")
