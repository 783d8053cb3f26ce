"""`kernelwright optimize`: run campaigns from operators to verified kernels and reports.

Checks everything a user can get wrong, takes the results folder for itself, and drives Snakemake in passes
(engine.passes) beside one judge server. A killed run leaves nothing that the next one would trust.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from kernelwright import artifacts, cli, paths
from kernelwright import config as settings
from kernelwright.engine import campaigns, judge_server, lock, passes, phrases, processes, targets
from kernelwright.engine.passes import Run
from kernelwright.errors import InputError

# Flag -> the setting that it overrides.
OVERRIDES = {
    "operator": "operators",
    "operator_dir": "operator_dir",
    "platform": "platform",
    "framework": "frameworks",
    "mode": "mode",
    "agent": "agent",
    "results": "results",
    "max_iters": "stop.max_iters",
    "token_budget": "stop.token_budget",
    "target_util": "stop.target_utilization",
    "max_stall": "stop.max_stall",
    "buckets": "buckets.max",
}


class Interrupted(BaseException):
    """A signal that ends the run; `args[0]` is its number."""


def parser() -> argparse.ArgumentParser:
    flags = cli.Parser(prog="kernelwright optimize", description=(__doc__ or "").splitlines()[0])
    flags.add_argument("--operator", nargs="+", metavar="NAME", help="operators to optimise, folders under operators/")
    flags.add_argument("--operator-dir", type=Path, metavar="DIR", help="a folder anywhere that holds one operator")
    flags.add_argument("--platform", metavar="NAME", help="a file of config/platforms, or auto")
    flags.add_argument("--framework", nargs="+", metavar="NAME", help="what kernels are written in, or auto")
    flags.add_argument("--mode", metavar="MODE", help="leaderboard or production")
    flags.add_argument("--agent", metavar="NAME", help="who proposes kernels")
    flags.add_argument("--max-iters", type=int, metavar="N", help="versions per bucket")
    flags.add_argument("--token-budget", type=int, metavar="N", help="tokens of all sessions of a campaign")
    flags.add_argument("--target-util", type=float, metavar="SHARE", help="share of the roofline floor to stop at")
    flags.add_argument("--max-stall", type=int, metavar="N", help="versions in a row without an accepted one")
    flags.add_argument("--buckets", type=int, metavar="N", help="kernels per campaign at most")
    flags.add_argument("--config", type=Path, metavar="FILE", help="settings over those of config/config.yaml")
    flags.add_argument("--results", metavar="DIR", help="where artifacts are written")
    flags.add_argument("--profile", default="local", metavar="NAME", help="a folder of config/profiles, or a path")
    flags.add_argument("--jobs", type=int, metavar="N", help="jobs at once; default: the processors of this machine")
    flags.add_argument("--no-judge-server", action="store_true", help="let each job judge in a process of its own")
    return flags


def configuration(arguments: argparse.Namespace) -> dict[str, Any]:
    """The merged configuration, every name in it known to exist. Raises InputError with one line."""
    given = {key: getattr(arguments, flag) for flag, key in OVERRIDES.items() if getattr(arguments, flag) is not None}
    if given.get("frameworks") == ["auto"]:
        given["frameworks"] = "auto"
    if "operator_dir" in given:
        given["operator_dir"] = str(given["operator_dir"])
    return targets.checked(settings.load(arguments.config, given))


def profile_dir(name: str) -> Path:
    """Folder of a Snakemake profile. Raises InputError listing those that come with the project."""
    root = paths.project_root() / "config" / "profiles"
    for path in (root / name, Path(name)):
        if (path / "config.yaml").is_file():
            return path.resolve()
    allowed = ", ".join(sorted(path.parent.name for path in root.glob("*/config.yaml")))
    raise InputError(f"profile {name!r}: no config.yaml in {root / name}; allowed: {allowed}, or a folder's path")


def processors(jobs: int | None) -> int:
    """Jobs at once. Raises InputError below 1."""
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs: {jobs} is not allowed; at least 1")
    if jobs is not None:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def summary(run: Run) -> None:
    """Say for each campaign what it came to and where the report lies."""
    for campaign in run.campaigns:
        name = f"{campaign.operator} {campaign.platform} {campaign.framework}-{campaign.mode}"
        files = [campaign.dispatcher / "verdict.json", campaign.dispatcher / "provenance.json"]
        finished = all(path.exists() for path in files)
        said = phrases.of_campaign(*map(artifacts.read_json, files)) if finished else "no dispatcher"
        for bucket, failure in campaigns.failures(campaign).items():
            where = f"v{failure['version']:03d} {failure['step']}"
            print(f"{name}: {bucket} FAILED at {where}; log: {campaign.root / failure['log']}")
        for bucket in campaigns.unused_buckets(campaign):
            print(f"{name}: {campaign.root / bucket} is not a bucket of buckets.json; it is kept and not used")
        report = campaign.root / "report.html"
        print(f"{name}: {said}; {report if report.exists() else 'no report'}", flush=True)


def drive(run: Run) -> int:
    """Everything that happens while the results folder is held."""
    (run.state_dir / "stopping").unlink(missing_ok=True)
    if left := processes.sweep(passes.EVENTS, str(run.events.resolve())):
        print(f"kernelwright: ended {left} processes of a run that was killed", flush=True)
    if lock.unlock_stale(run.directory):
        print("kernelwright: removed the lock of a run that was killed", flush=True)
    passes.prepare(run)
    if passes.up_to_date(run):
        print("kernelwright: nothing to be done, every artifact is there and up to date", flush=True)
        summary(run)
        return 0
    with judge_server.running(run.state_dir / "judge.log", run.judge_server) as env:
        run.env.update(env)
        try:
            code = passes.to_reports(run)
        except Interrupted as interrupted:  # here, so that jobs end before the server they talk to
            return end(run, interrupted.args[0])
    summary(run)
    return code


def _interrupt(number: int, frame: FrameType | None) -> None:
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # the end takes seconds at most; a second signal must not break it off
    raise Interrupted(number)


def end(run: Run, number: int) -> int:
    """End every process of the run after a signal."""
    print(f"kernelwright: {signal.Signals(number).name}, ending the run", file=sys.stderr, flush=True)
    artifacts.write_text(run.state_dir / "stopping", "")
    processes.end_descendants()
    return 128 + number


def main(argv: Sequence[str] | None = None) -> int:
    """Run campaigns; 0 when all are finished, 1 when a bucket or a step failed, 2 for bad input."""
    arguments = parser().parse_args(argv)
    return cli.guarded(_run)(arguments)


def _run(arguments: Any) -> int:
    config = configuration(arguments)
    run = Run(config, Path.cwd(), processors(arguments.jobs), profile_dir(arguments.profile), {})
    run.judge_server = not arguments.no_judge_server
    processes.adopt_orphans()
    with lock.exclusive(Path(config["results"])):
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, _interrupt)
        try:
            return drive(run)
        except Interrupted as interrupted:
            return end(run, interrupted.args[0])


if __name__ == "__main__":
    sys.exit(main())
