"""`python -m kernelwright.judge`: judge one candidate, compare two, or serve requests.

Exit codes: 0 accepted, 1 rejected or failed, 2 the problem or the arguments are invalid.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.cli import guarded
from kernelwright.errors import InputError
from kernelwright.judge import client
from kernelwright.judge.request import CONTENDERS, DEPTHS, MODES, JudgeRequest

EXIT_CODES = {"accepted": 0, "rejected": 1, "failed": 1, "invalid_problem": 2}


def parser() -> argparse.ArgumentParser:
    """Flags of a judgement."""
    made = argparse.ArgumentParser(
        prog="kernelwright judge",
        description="Judge one candidate kernel, or compare two. "
        "`kernelwright judge serve --socket PATH` starts a warm server instead.",
        allow_abbrev=False,
    )
    made.add_argument(
        "--operator", required=True, metavar="DIR", help="operator folder, or the name of one under operators/"
    )
    made.add_argument("--candidate", required=True, metavar="FILE", help="the kernel to judge")
    made.add_argument("--platform", default="auto", help="file of config/platforms (default: this machine's)")
    made.add_argument("--framework", default=None, help="what the kernel is written in")
    made.add_argument(
        "--mode", choices=MODES, default="leaderboard", help="production: self-contained in its framework"
    )
    made.add_argument(
        "--workloads", default=None, metavar="IDS", help="comma-separated ids (default: the platform's set)"
    )
    made.add_argument("--against", default=None, metavar="FILE", help="a kernel that must be beaten")
    made.add_argument(
        "--contenders", default="reference", metavar="NAMES", help=f"also timed: {', '.join(CONTENDERS)}, or none"
    )
    made.add_argument("--depth", choices=DEPTHS, default="full", help="where to stop")
    made.add_argument("--seeds", type=int, default=3, help="secret seeds per workload")
    made.add_argument("--samples", type=int, default=30, help="timed samples per workload and contender")
    made.add_argument("--min-improvement", type=float, default=0.02, help="share by which --against must be beaten")
    made.add_argument("--confidence", type=float, default=0.95, help="of the intervals")
    made.add_argument("--call-timeout-s", type=float, default=60.0, help="limit of one call")
    made.add_argument("--compile-timeout-s", type=float, default=300.0, help="limit of import and compilation")
    made.add_argument("--json", default=None, metavar="OUT", help="write the verdict there")
    return made


def serve_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="kernelwright judge serve", description="Serve judgements until SIGTERM.", allow_abbrev=False
    )
    made.add_argument("--socket", required=True, metavar="PATH", help="Unix socket to listen on")
    made.add_argument("--die-with-parent", action="store_true", help="end when the process that started this one ends")
    return made


def request_from(arguments: argparse.Namespace) -> JudgeRequest:
    """The request that the flags describe. Raises InputError."""
    from kernelwright import operators

    given = Path(arguments.operator)
    directory = given if given.exists() else operators.find(given.name)
    for flag, path in (("--candidate", arguments.candidate), ("--against", arguments.against)):
        if path is not None and not Path(path).is_file():
            raise InputError(f"{flag} {path}: no such file")
    if arguments.json is not None:
        check_writable(Path(arguments.json))
    contenders = () if arguments.contenders == "none" else words(arguments.contenders)
    return JudgeRequest(
        operator_dir=str(directory.resolve()),
        candidate=str(Path(arguments.candidate).resolve()),
        platform=resolved_platform(arguments.platform, arguments.framework),
        framework=arguments.framework,
        mode=arguments.mode,
        workloads=words(arguments.workloads) if arguments.workloads is not None else None,
        against=str(Path(arguments.against).resolve()) if arguments.against else None,
        contenders=contenders,
        depth=arguments.depth,
        seeds=arguments.seeds,
        samples=arguments.samples,
        min_improvement=arguments.min_improvement,
        confidence=arguments.confidence,
        call_timeout_s=arguments.call_timeout_s,
        compile_timeout_s=arguments.compile_timeout_s,
    )


def check_writable(path: Path) -> None:
    """Raises InputError before any work when a file could not be written."""
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--json {path}: its folder cannot be made ({error.strerror})") from None
    if not os.access(path.absolute().parent, os.W_OK):
        raise InputError(f"--json {path}: nothing can be written into that folder")


def resolved_platform(name: str, framework: str | None) -> str:
    """Name of the platform. Raises InputError when it is unknown or has no such framework."""
    from kernelwright.knowledge import platforms

    platform = platforms.load(name)
    if framework is not None and framework not in platform.frameworks:
        raise InputError(f"--framework {framework}: not one of {platform.name}'s: {', '.join(platform.frameworks)}")
    return platform.name


def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def write_verdict(path: Path, body: dict[str, Any], facts: dict[str, Any]) -> None:
    """verdict.json with its provenance."""
    from kernelwright import artifacts

    artifacts.write(
        path, "verdict", body, kernel_sha256=body["kernel"]["sha256"], platform=body["scope"]["platform"], **facts
    )


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    """Judge, print a summary, write the verdict; or serve."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["serve"]:
        from kernelwright.judge import server

        arguments = serve_parser().parse_args(given[1:])
        return server.serve(Path(arguments.socket), arguments.die_with_parent)
    arguments = parser().parse_args(given)
    body = client.evaluate(request_from(arguments))
    facts = body.pop("facts")
    if arguments.json:
        write_verdict(Path(arguments.json), body, facts)
    from kernelwright.judge import summary

    summary.show(body)
    return EXIT_CODES[body["status"]]


if __name__ == "__main__":
    sys.exit(main())
