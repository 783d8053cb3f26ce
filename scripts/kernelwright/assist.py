"""`kernelwright assist`: the judge, profile, wiki and memory in a person's own coding session, in the current folder.

kernel.py                     the kernel that is edited
.kernelwright/desk.json       operator and kernel; specs.json beside it
.kernelwright/plan.md         what the next attempt tries: written before the kernel is edited
.kernelwright/incumbent/      the best accepted kernel
.kernelwright/trials/NNN/     each judged kernel, its verdict and the plan it was made for
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli
from kernelwright.errors import InputError

FOLDER = ".kernelwright"
EXIT_CODES = {"accepted": 0, "rejected": 1, "failed": 1, "invalid_problem": 2}
EDITORS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
BLOCK = 2  # exit code by which a hook stops what was about to happen


class Desk:
    """The files of one session, below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / FOLDER
        self.specs = self.folder / "specs.json"
        self.plan = self.folder / "plan.md"
        self.incumbent = self.folder / "incumbent" / "kernel.py"
        self.memory_read = self.folder / "memory_read"

    @classmethod
    def found(cls) -> Desk:
        """The desk of the current folder or of one above it. Raises InputError without one."""
        for folder in (Path.cwd(), *Path.cwd().parents):
            if (folder / FOLDER / "desk.json").is_file():
                return cls(folder)
        raise InputError(
            f"{Path.cwd()}: no {FOLDER}/desk.json here; `kernelwright assist start --operator NAME` makes one"
        )

    @property
    def record(self) -> dict[str, Any]:
        return artifacts.read(self.folder / "desk.json", "desk")

    @property
    def kernel(self) -> Path:
        return self.root / self.record["kernel"]

    def trials(self) -> list[tuple[int, dict[str, Any]]]:
        """(number, verdict) of every judged kernel, in order."""
        paths = sorted((self.folder / "trials").glob("*/verdict.json"))
        return [(int(path.parent.name), artifacts.read(path, "verdict")) for path in paths]

    def last_trial(self) -> Path | None:
        return max((self.folder / "trials").glob("*/verdict.json"), default=None)


def newer(path: Path, other: Path | None) -> bool:
    """Whether `path` is there and was written after `other`."""
    return path.is_file() and (other is None or path.stat().st_mtime_ns > other.stat().st_mtime_ns)


def start(arguments: argparse.Namespace) -> int:
    """Make the desk: specs, the reference as first kernel and incumbent."""
    from kernelwright import baseline, config, operators, specs
    from kernelwright.knowledge import platforms

    given = Path(arguments.operator)
    operator = operators.load(given if given.exists() else operators.find(arguments.operator))
    platform = platforms.load(arguments.platform)
    framework = arguments.framework or next(iter(platforms.frameworks_available(platform)), platform.frameworks[0])
    if framework not in platform.frameworks:
        raise InputError(
            f"--framework {framework}: not one of {platform.name}'s; allowed: {', '.join(platform.frameworks)}"
        )
    desk = Desk(Path.cwd())
    if (desk.folder / "desk.json").exists():
        raise InputError(f"{desk.folder}: there is a session already; remove the folder to start another")
    target = config.load()["stop"]["target_utilization"]
    body = specs.build(operator, platform, framework, arguments.mode, target)
    artifacts.write(desk.specs, "specs", body, platform=platform.name)
    artifacts.write_text(desk.incumbent, baseline.kernel_source(operator))
    kernel = desk.root / arguments.kernel
    if not kernel.exists():
        artifacts.write_text(kernel, baseline.kernel_source(operator))
    artifacts.write(
        desk.folder / "desk.json", "desk", {"operator_dir": str(operator.source), "kernel": arguments.kernel}
    )
    print(f"{operator.name} on {platform.name}, {framework}, {arguments.mode}: edit {arguments.kernel}")
    return 0


def judge(arguments: argparse.Namespace) -> int:
    """Judge the kernel against the incumbent; an accepted one takes its place."""
    from kernelwright import config, judging
    from kernelwright.judge import summary

    desk = Desk.found()
    specs = artifacts.read(desk.specs, "specs")
    number = max((number for number, _ in desk.trials()), default=0) + 1
    folder = desk.folder / "trials" / f"{number:03d}"
    artifacts.write_bytes(folder / "kernel.py", desk.kernel.read_bytes())
    if desk.plan.is_file():
        artifacts.write_text(folder / "plan.md", desk.plan.read_text())
    operator_dir = Path(desk.record["operator_dir"])
    request = judging.request(
        specs,
        config.load(),
        operator_dir,
        folder / "kernel.py",
        list(specs["workloads"]),
        desk.incumbent,
        ("reference",),
    )
    body, facts = judging.evaluate(request)
    kernel = folder / "kernel.py"
    artifacts.write(folder / "verdict.json", "verdict", body, kernel_sha256=artifacts.sha256_file(kernel), **facts)
    if body["status"] == "accepted":
        artifacts.write_bytes(desk.incumbent, kernel.read_bytes())
    summary.show(body)
    return EXIT_CODES[body["status"]]


def profile(arguments: argparse.Namespace) -> int:
    """Metrics and bottlenecks of the incumbent, as JSON."""
    from kernelwright import config
    from kernelwright import profile as step
    from kernelwright.profilers import summary

    desk = Desk.found()
    specs = artifacts.read(desk.specs, "specs")
    workloads = step.representative(list(specs["workloads"]), specs)
    judge_settings = config.load()["judge"]
    timeout_s = judge_settings["compile_timeout_s"] + len(workloads) * judge_settings["call_timeout_s"]
    device = "cpu" if specs["platform"]["vendor"] == "cpu" else "cuda"
    operator_dir = Path(desk.record["operator_dir"])
    raw = step.measure_in_child(operator_dir, desk.incumbent, workloads, device, timeout_s)
    metrics = summary.metrics(raw, specs)
    found = {"metrics": metrics, "hot": summary.hot(raw), "bottlenecks": summary.bottlenecks(metrics, raw, specs)}
    print(json.dumps(found, indent=1))
    return 0


def wiki(arguments: argparse.Namespace) -> int:
    """Cards by words, or one card by its id."""
    from kernelwright import config
    from kernelwright.agents.tools.wiki import look_up

    specs = artifacts.read(Desk.found().specs, "specs")
    print(json.dumps(look_up(" ".join(arguments.query), config.load(), specs), indent=1))
    return 0


def memory(arguments: argparse.Namespace) -> int:
    """What was tried: the first line of each attempt's plan and the verdict on it."""
    desk = Desk.found()
    for number, verdict in desk.trials():
        plan = desk.folder / "trials" / f"{number:03d}" / "plan.md"
        lines = [line.strip("# ") for line in plan.read_text().splitlines() if line.strip()] if plan.is_file() else []
        idea = lines[0] if lines else "no plan"
        print(f"{number:03d} {idea}: {verdict['status']}, {verdict['sentence']}")
    if not desk.trials():
        print("nothing was tried yet")
    artifacts.write_text(desk.memory_read, "")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """The incumbent, the number of attempts, and what the workflow wants next."""
    desk = Desk.found()
    trials = desk.trials()
    accepted = [number for number, verdict in trials if verdict["status"] == "accepted"]
    best = f"trial {accepted[-1]:03d}" if accepted else "the reference"
    print(f"{len(trials)} attempts, incumbent: {best}; next: {missing(desk) or 'edit, then assist judge'}")
    return 0


def missing(desk: Desk) -> str | None:
    """What has to come before the kernel is edited, None when nothing has."""
    last = desk.last_trial()
    if not newer(desk.memory_read, last):
        return "read what was tried: kernelwright assist memory"
    if not newer(desk.plan, last):
        return f"write the plan of this attempt: {FOLDER}/plan.md"
    return None


def unjudged(desk: Desk) -> bool:
    """Whether the kernel is neither the incumbent nor the last one that was judged."""
    if not desk.kernel.is_file():
        return False
    own = desk.kernel.read_bytes()
    known = [desk.incumbent, *(path.with_name("kernel.py") for path in [desk.last_trial()] if path is not None)]
    return all(not path.is_file() or path.read_bytes() != own for path in known)


def hook(arguments: argparse.Namespace) -> int:
    """What a coding session calls around its tools; a reason on stderr and exit code 2 stop it."""
    try:
        event = json.load(sys.stdin)
        desk = Desk.found()
    except (ValueError, InputError):
        return 0  # no work of ours goes on here
    name = event.get("hook_event_name")
    if name == "PreToolUse" and event.get("tool_name") in EDITORS:
        target = (event.get("tool_input") or {}).get("file_path")
        if target and (Path(event.get("cwd") or Path.cwd()) / target).resolve() == desk.kernel.resolve():
            return stopped(missing(desk), "Before the kernel is edited: ")
    if name == "Stop" and not event.get("stop_hook_active") and unjudged(desk):
        return stopped(
            "kernelwright assist judge", "The kernel was changed and not judged; before anything is claimed: "
        )
    return 0


def stopped(reason: str | None, words: str) -> int:
    if reason is None:
        return 0
    print(words + reason, file=sys.stderr)
    return BLOCK


VERBS = {
    "start": start,
    "judge": judge,
    "profile": profile,
    "wiki": wiki,
    "memory": memory,
    "status": status,
    "hook": hook,
}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="kernelwright assist", description=(__doc__ or "").splitlines()[0])
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, function in VERBS.items():
        verb = verbs.add_parser(name, help=(function.__doc__ or "").splitlines()[0])
        if name == "wiki":
            verb.add_argument("query", nargs="*")
        if name == "start":
            verb.add_argument("--operator", required=True, help="a folder, or the name of one under operators/")
            verb.add_argument("--kernel", default="kernel.py", help="the file that will be edited")
            verb.add_argument("--platform", default="auto")
            verb.add_argument("--framework")
            verb.add_argument("--mode", choices=("leaderboard", "production"), default="leaderboard")
    return made


@cli.guarded
def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    return VERBS[arguments.verb](arguments)


if __name__ == "__main__":
    sys.exit(main())
