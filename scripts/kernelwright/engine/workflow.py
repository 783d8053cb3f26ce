"""Snakemake under a guard: this process forks, the child is Snakemake, the parent ends whatever it leaves behind.

Steps die with Snakemake (cli.die_with_parent), but an agent's program and what it starts do not die with their step.
The guard adopts such orphans and ends them: at once when their step is dead, all of them when Snakemake has ended or
the driver is gone. The driver adopts orphans too, so that one of the two may be killed at any moment; a sweep at the
start of the next run (processes.sweep) is for the case that both were.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from kernelwright import cli
from kernelwright.engine import processes

POLL_S = 2.0


class Ended(BaseException):
    """The driver died or ends the run."""


def allow_no_rate_limit() -> None:
    """Let `--max-jobs-per-timespan 0/1s` mean no limit.

    Snakemake 9.27 always limits submissions, and each scheduling round under a limit starts a timer whose end is
    another round: their number grows without bound, and a long run on this machine alone spends its time in them.
    """
    from snakemake.settings.types import MaxJobsPerTimespan

    MaxJobsPerTimespan.__bool__ = lambda self: self.max_jobs > 0  # type: ignore[attr-defined]


def snakemake(words: list[str]) -> int:
    """Snakemake's command line with our logger."""
    cli.die_with_parent()
    from snakemake.cli import main
    from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

    from kernelwright.engine import progress

    allow_no_rate_limit()
    LoggerPluginRegistry().register_plugin("snakemake_logger_plugin_kernelwright", progress)
    main([*words, "--logger", "kernelwright"])
    return 0


def _ended(number: int, frame: FrameType | None) -> None:
    raise Ended


def guard(child: int) -> int:
    """Wait for Snakemake and return its exit code; no process below this one is left afterwards."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    tree = processes.Tree(child)
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _ended)
        processes.signal_when_parent_dies(signal.SIGTERM)
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status) % 256
            tree.end_orphans()
            signal.sigtimedwait([signal.SIGCHLD], POLL_S)
    except Ended:
        return 128 + signal.SIGTERM
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        processes.end_descendants(grace_s=0.0 if processes.is_orphan() else processes.GRACE_S)


def main(argv: Sequence[str] | None = None) -> int:
    """Run Snakemake's command line with `argv`."""
    words = list(sys.argv[1:] if argv is None else argv)
    processes.adopt_orphans()
    child = os.fork()
    return snakemake(words) if child == 0 else guard(child)


if __name__ == "__main__":
    sys.exit(main())
