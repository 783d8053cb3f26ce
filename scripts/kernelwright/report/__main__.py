"""`python -m kernelwright.report`: report.json and report.html of a campaign; `index` lists all campaigns."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kernelwright import artifacts, cli, paths
from kernelwright.errors import InputError
from kernelwright.report import collect, settings


def campaign_of(directory: Path) -> paths.Campaign:
    """The campaign at a directory. Raises InputError when it is not one."""
    if not directory.is_dir():
        raise InputError(f"--campaign {directory}: no such directory")
    try:
        # A relative path stays relative, so that the commands in the report work where this one was called.
        return paths.Campaign.from_dir(directory if len(directory.parts) > 3 else directory.resolve())
    except ValueError as error:
        raise InputError(f"--campaign {error}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernelwright report",
        description=__doc__,
        epilog="kernelwright report index --results DIR --output results/index.html: a page over all campaigns",
    )
    parser.add_argument("--campaign", type=Path, required=True, help="results/<operator>/<platform>/<framework>-<mode>")
    parser.add_argument("--config", type=Path, help="settings of the run; default: those it left")
    parser.add_argument("--output", type=Path, help="page to write")
    parser.add_argument("--json", type=Path, help="report.json to write; default: beside --output")
    parser.add_argument("--print", action="store_true", help="print a short summary; alone it writes nothing")
    return parser


def _index(argv: Sequence[str]) -> int:
    from kernelwright.report import index

    parser = argparse.ArgumentParser(prog="kernelwright report index", description="A page over all campaigns.")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    flags = parser.parse_args(argv)
    artifacts.write_text(flags.output, index.render(index.rows(flags.results), flags.output.parent))
    return 0


@cli.step
def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["index"]:
        return _index(words[1:])
    flags = _parser().parse_args(words)
    if not (flags.output or flags.json or flags.print):
        raise InputError("report: nothing to do; give --output, --json or --print")
    campaign = campaign_of(flags.campaign)
    body = collect.collect(campaign, settings.of_run(campaign.results, flags.config))
    target = flags.json or (flags.output.with_name("report.json") if flags.output else None)
    report = {**body, "provenance": artifacts.provenance()}
    if target:
        report = artifacts.write(target, "report", body, platform=campaign.platform)
    if flags.output:
        from kernelwright.report import page

        artifacts.write_text(flags.output, page.render(report))
    if flags.print:
        from kernelwright.report import terminal

        terminal.show(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
