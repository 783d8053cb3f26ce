"""The `kernelwright` command, and what every step's command line shares: one-line errors and dying with the parent."""

from __future__ import annotations

import argparse
import ctypes
import functools
import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from kernelwright import __version__
from kernelwright.errors import KernelwrightError

Main = Callable[..., int]
PLAIN_WIDTH = 130

VERBS = {
    "optimize": ("kernelwright.optimize", "run campaigns: from an operator to a verified kernel and a report"),
    "judge": ("kernelwright.judge.__main__", "judge one candidate kernel, or compare two"),
    "report": ("kernelwright.report.__main__", "render a campaign's report from its artifacts"),
    "watch": ("kernelwright.watch", "live progress of running campaigns"),
    "wiki": ("kernelwright.knowledge.wiki.__main__", "find, check, measure and harvest knowledge cards"),
    "calibrate": ("kernelwright.knowledge.calibration", "measure what this machine reaches: bandwidth, rates, launch"),
    "doctor": ("kernelwright.doctor", "what this machine has, what is missing and how to get it"),
    "assist": ("kernelwright.assist", "in your own coding session: judge, profile, wiki, memory"),
    "skill": ("kernelwright.skill", "put that workflow into a project: a skill and hooks for coding agents"),
    "replay": ("kernelwright.replay", "print an agent session readably"),
    "tool": ("kernelwright.agents.tools.client", "in an agent session: judge, compile, profile, wiki, memory, status"),
    "specs": ("kernelwright.specs", "step: operator contract, platform facts, roofline floors"),
    "baseline": ("kernelwright.baseline", "step: V0, the reference judged"),
    "signatures": ("kernelwright.signatures", "step: what a dispatcher may see"),
    "buckets": ("kernelwright.buckets", "step: sets of workloads that get their own kernel"),
    "profile": ("kernelwright.profile", "step: where the incumbent's time goes"),
    "plan": ("kernelwright.plan", "step: what the next episode tries"),
    "candidate": ("kernelwright.candidate", "step: an agent session writes a kernel"),
    "verify": ("kernelwright.verify", "step: verdict and memory of one version"),
    "dispatch": ("kernelwright.dispatch", "step: one kernel for all workloads"),
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, like all others."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help lists what is allowed\n")


def console() -> Any:
    """A rich console; PLAIN_WIDTH columns wide where the output is no terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, so that nothing outlives a killed run."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG
    if os.getppid() != parent:  # the parent died before the call
        os.kill(os.getpid(), signal.SIGKILL)


def guarded(main: Main) -> Main:
    """Turn expected errors of `main(argv) -> int` into one line on stderr and their exit code."""

    @functools.wraps(main)
    def wrapper(argv: Sequence[str] | None = None) -> int:
        try:
            return main(argv)
        except KernelwrightError as error:
            print(f"kernelwright: {error}", file=sys.stderr)
            return error.exit_code
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        except BrokenPipeError:  # the reader, `head` say, has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python's own flush at exit fails too
            return 128 + signal.SIGPIPE

    return wrapper


def step(main: Main) -> Main:
    """For the main of a workflow step: `guarded`, and it dies with the workflow engine when that set KERNELWRIGHT_RUN."""

    @functools.wraps(main)
    def wrapper(argv: Sequence[str] | None = None) -> int:
        if os.environ.get("KERNELWRIGHT_RUN"):
            die_with_parent()
        return guarded(main)(argv)

    return wrapper


def usage() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {text}" for verb, (_, text) in VERBS.items()]
    return "\n".join(["usage: kernelwright VERB [--flags]; VERB --help says more", "", *lines])


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console command: the first word picks the module that does the work."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] == "--version":
        print(f"kernelwright {__version__}")
        return 0
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if words[0] not in VERBS:
        print(f"kernelwright: unknown verb {words[0]!r}; allowed: {', '.join(VERBS)}", file=sys.stderr)
        return 2
    return importlib.import_module(VERBS[words[0]][0]).main(words[1:])


if __name__ == "__main__":
    sys.exit(main())
