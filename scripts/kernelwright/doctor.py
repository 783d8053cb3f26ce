"""`kernelwright doctor`: what this machine has, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright import cli

NEEDED, OPTIONAL = "needed", "optional"


@dataclass(frozen=True)
class Check:
    """One line of the table: `found` is the version or None; `remedy` is how to get it."""

    name: str
    need: str
    found: str | None
    remedy: str
    why: str


def _program(name: str, need: str, why: str, package: str | None = None, flag: str = "--version") -> Check:
    path = shutil.which(name) or shutil.which(str(Path(sys.executable).parent / name))
    remedy = f"apt-get install {package or name}"
    if path is None:
        return Check(name, need, None, remedy, why)
    try:
        done = subprocess.run([path, flag], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, need, None, f"{path} does not run ({type(error).__name__}); {remedy}", why)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return Check(name, need, lines[0][:60] if lines else path, remedy, why)


def _package(name: str, need: str, why: str, remedy: str = "make setup") -> Check:
    try:
        return Check(name, need, importlib.metadata.version(name), remedy, why)
    except importlib.metadata.PackageNotFoundError:
        return Check(name, need, None, remedy, why)


def _python_headers() -> Check:
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    why = "torch.compile on CPU, the second baseline"
    return Check("Python.h", OPTIONAL, str(header) if header.is_file() else None, "apt-get install python3-dev", why)


def _namespaces() -> Check:
    why = "the judge's sandbox"
    remedy = "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1)"
    unshare = shutil.which("unshare")
    if unshare is None:
        return Check("user namespaces", OPTIONAL, None, "apt-get install util-linux", why)
    done = subprocess.run([unshare, "-Urnpf", "true"], capture_output=True, check=False)
    return Check("user namespaces", OPTIONAL, "available" if done.returncode == 0 else None, remedy, why)


def _platform() -> Check:
    from kernelwright.knowledge import platforms

    name = platforms.detect()
    return Check("platform", NEEDED, name, "PLATFORM=name picks another", "what kernels are written for")


def _frameworks() -> list[Check]:
    from kernelwright import frameworks

    checks = []
    for name in frameworks.names():
        available, note = frameworks.get(name).availability()
        checks.append(Check(f"framework {name}", OPTIONAL, "available" if available else None, note, "kernels in it"))
    return checks


def agent_checks(name: str) -> list[Check]:
    """Version and login of an agent's CLI. Raises InputError for an unknown name."""
    from kernelwright import agents

    agent = agents.get(name)
    if not hasattr(agent, "checks"):
        return [Check(f"agent {name}", NEEDED, "built in", "", "proposes kernels")]
    return [Check(what, NEEDED, found, remedy, "proposes kernels") for what, found, remedy in agent.checks()]


def checks() -> list[Check]:
    """Every check, in the order of the table."""
    return [
        Check("python", NEEDED, sys.version.split()[0], "Python 3.11 to 3.13", "everything"),
        _program("git", NEEDED, "campaign workspaces"),
        _program("make", NEEDED, "the verbs", flag="--version"),
        _program("g++", NEEDED, "C++ kernels", flag="--version"),
        _package("torch", NEEDED, "references, baselines, extension builder"),
        _package("snakemake", NEEDED, "the workflow"),
        _package("ninja", NEEDED, "builds C++ kernels"),
        _package("ncu-report", OPTIONAL, "reads Nsight Compute reports"),
        _package("triton", OPTIONAL, "Triton kernels on a GPU", "comes with a GPU build of torch"),
        _python_headers(),
        _namespaces(),
        _program("nvidia-smi", OPTIONAL, "NVIDIA GPUs", "the NVIDIA driver", "--version"),
        _program("bwrap", OPTIONAL, "walls around coding agents", "bubblewrap"),
        _program("perf", OPTIONAL, "hardware counters on CPU", "linux-perf"),
        _platform(),
        *_frameworks(),
    ]


@cli.guarded
def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 0 when all that is needed is there, else 1."""
    flags = argparse.ArgumentParser(prog="kernelwright doctor", description=__doc__)
    flags.add_argument("--agent", metavar="NAME", help="check this agent's program and login instead")
    arguments = flags.parse_args(argv)
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("", "what", "found", "for", "how to get it"):
        table.add_column(title, overflow="fold")
    missing = 0
    for check in agent_checks(arguments.agent) if arguments.agent else checks():
        missing += check.found is None and check.need == NEEDED
        mark = "[green]ok[/]" if check.found else ("[red]missing[/]" if check.need == NEEDED else "[yellow]absent[/]")
        table.add_row(mark, check.name, check.found or "", check.why, "" if check.found else check.remedy)
    cli.console().print(table)
    print(f"{missing} needed thing(s) missing" if missing else "all that is needed is here")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
