"""`python -m kernelwright.report`: report.json and report.html of a campaign; `index` lists all campaigns, `all` renders them again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    parser = cli.Parser(
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

    parser = cli.Parser(prog="kernelwright report index", description="A page over all campaigns.")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    flags = parser.parse_args(argv)
    artifacts.write_text(flags.output, index.render(index.rows(flags.results), flags.output.parent))
    return 0


def _all(argv: Sequence[str]) -> int:
    """Render what already has artifacts again; runs nothing else."""
    parser = cli.Parser(prog="kernelwright report all", description=_all.__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--operator", nargs="+", default=[], help="campaigns of these operators only")
    flags = parser.parse_args(argv)
    found = paths.Campaign.below(flags.results, flags.operator)
    if not found:
        raise InputError(f"--operator {' '.join(flags.operator)}: no campaign of it in {flags.results}")
    for campaign in found:
        _write(campaign, None, campaign.root / "report.html", campaign.root / "report.json")
        print(campaign.root / "report.html")
    return 0


def _write(campaign: paths.Campaign, config: Path | None, html: Path | None, json: Path | None) -> dict[str, Any]:
    """report.json's content, written where asked."""
    body = collect.collect(campaign, settings.of_campaign(campaign, config))
    report = {**body, "provenance": artifacts.provenance()}
    if json:
        report = artifacts.write(json, "report", body, platform=campaign.platform)
    if html:
        from kernelwright.report import page

        artifacts.write_text(html, page.render(report))
    return report


@cli.step
def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["index"]:
        return _index(words[1:])
    if words[:1] == ["all"]:
        return _all(words[1:])
    flags = _parser().parse_args(words)
    if not (flags.output or flags.json or flags.print):
        raise InputError("report: nothing to do; give --output, --json or --print")
    campaign = campaign_of(flags.campaign)
    target = flags.json or (flags.output.with_name("report.json") if flags.output else None)
    report = _write(campaign, flags.config, flags.output, target)
    if flags.output:
        from kernelwright.knowledge.wiki import harvest

        found = harvest.harvest(campaign)
        print(f"{len(found)} candidate cards in {campaign.root / harvest.FOLDER}; kernelwright wiki gate checks them")
    if flags.print:
        from kernelwright.report import terminal

        terminal.show(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
