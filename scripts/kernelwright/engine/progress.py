"""Snakemake's log as one line per finished step, and its failures as records for the driver.

Loaded by engine.workflow as a logger plugin; the class names are Snakemake's.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from logging import ERROR, LogRecord
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from kernelwright.engine import phrases
from kernelwright.engine.passes import EVENTS

STOPPING = "stopping"  # beside it while the driver ends the run: steps it ends have not failed
TAIL_LINES = 12
QUIET_S = 30.0  # after so much silence a line says what is running
# What Snakemake says beside the record of a failed job; the record has it all.
NOISE = re.compile(r"CalledProcessError|WorkflowError:\s*At least one job|Exiting because|job execution failed")


def log_tail(paths: list[str]) -> str:
    """Last lines of a step's log."""
    lines: list[str] = []
    for path in paths:
        if Path(path).is_file():
            lines += Path(path).read_text(errors="replace").splitlines()[-TAIL_LINES:]
    return "\n".join(lines)


class LogHandler(LogHandlerBase):
    """Prints finished and failed steps; keeps Snakemake's own lines for its log file."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.jobs: dict[int, tuple[float, dict[str, Any]]] = {}
        self.running: set[int] = set()
        self.said = time.monotonic()
        threading.Thread(target=self._watch_silence, daemon=True).start()

    def _say(self, text: str) -> None:
        self.said = time.monotonic()
        print(text, flush=True)

    def _watch_silence(self) -> None:
        while True:
            time.sleep(QUIET_S / 10)
            if time.monotonic() - self.said >= QUIET_S:
                self._say_running()

    def _say_running(self) -> None:
        """What the longest running step is at, for those who watch."""
        open_jobs = [self.jobs[jobid] for jobid in sorted(self.running) if jobid in self.jobs]
        if not open_jobs:
            return
        started, facts = min(open_jobs, key=lambda job: job[0])
        last = log_tail([str(name) for name in facts.get("log") or []]).splitlines()[-1:]
        text = f"... {last[0]}" if last else "..."
        self._say(phrases.line(str(facts["rule_name"]), _named(facts), text, time.monotonic() - started))

    def emit(self, record: LogRecord) -> None:
        event = getattr(record, "event", None)
        facts = vars(record)
        if event == LogEvent.JOB_INFO:
            self.jobs[facts["jobid"]] = (time.monotonic(), facts)
        elif event == LogEvent.JOB_STARTED:
            self.running.update(facts["jobs"])
        elif event == LogEvent.JOB_FINISHED:
            self._finished(facts["job_id"])
        elif event == LogEvent.JOB_ERROR:
            self._failed(facts)
        elif event is None or event == LogEvent.ERROR:
            text = record.getMessage()
            if text.startswith("Nothing to be done"):
                print("nothing to be done: every artifact is there and up to date", flush=True)
            elif record.levelno >= ERROR and not NOISE.search(text):
                print(text, file=sys.stderr, flush=True)

    def _finished(self, jobid: int) -> None:
        started, facts = self.jobs.pop(jobid, (None, {}))
        self.running.discard(jobid)
        rule = facts.get("rule_name")
        if started is None or rule in ("all", "chains"):
            return
        text = phrases.of_step(str(rule), [str(name) for name in facts["output"]])
        if text is not None:
            self._say(phrases.line(str(rule), _named(facts), text, time.monotonic() - started))

    def _failed(self, facts: Mapping[str, Any]) -> None:
        started, info = self.jobs.pop(facts.get("jobid", -1), (None, {}))
        if EVENTS in os.environ and Path(os.environ[EVENTS]).with_name(STOPPING).exists():
            return
        wildcards = _named(info)
        # Snakemake adds remarks such as "(check log file(s) ...)" to names; the job's own record has the bare ones.
        logs = [str(name).split(" (")[0] for name in (info.get("log") or facts.get("log") or [])]
        tail = log_tail(logs)
        seconds = None if started is None else time.monotonic() - started
        print(phrases.line(str(facts.get("rule_name")), wildcards, "FAILED", seconds), flush=True)
        for text in tail.splitlines()[-3:]:
            print(f"    {text}", flush=True)
        if logs:
            print(f"    log: {logs[0]}", flush=True)
        if EVENTS in os.environ:
            event = {
                "step": facts.get("rule_name"),
                "wildcards": wildcards,
                "log": logs[0] if logs else "",
                "log_tail": tail,
            }
            with Path(os.environ[EVENTS]).open("a") as stream:
                stream.write(json.dumps(event) + "\n")


def _named(facts: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in dict(facts.get("wildcards") or {}).items()}
