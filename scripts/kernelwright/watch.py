"""Live progress of running campaigns, read from their files alone: `kernelwright watch --results results`."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli, paths, stop
from kernelwright.engine import lock
from kernelwright.errors import InputError
from kernelwright.report import settings

SYMBOLS = {"accepted": "+", "rejected": "-", "failed": "x", "invalid_problem": "!", "blocked": "."}
COLORS = {"accepted": "green", "rejected": "yellow", "failed": "red", "invalid_problem": "red", "blocked": "dim"}
LEGEND = "+ accepted  - rejected  x failed  . blocked"
EPISODE = (("profile.json", "plan"), ("plan.json", "candidate"), ("candidate/usage.json", "verify"))  # there -> running
CAMPAIGN = (
    ("dispatcher/provenance.json", "report"),
    ("buckets.json", "search"),
    ("signatures.json", "buckets"),
    ("baseline/verdict.json", "signatures"),
    ("specs.json", "baseline"),
)
LOG_TAIL_BYTES = 4096
VERSIONS_WIDTH = 24  # the newest versions that are shown


@dataclass(frozen=True)
class Progress:
    """One line of the view: a bucket, or a campaign whose buckets are not fixed yet (`bucket` empty)."""

    campaign: paths.Campaign
    bucket: str
    outcomes: tuple[str, ...]
    incumbent: int | None
    speedup: float | None  # over the baseline: product of the accepted versions' gains
    step: str
    ended: str | None
    alarm: bool = False


def last_log_line(log: Path) -> str | None:
    """Last line of a log that says something, from its last few kilobytes."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
            lines = stream.read().decode(errors="replace").splitlines()
    except OSError:
        return None
    said = [line.strip() for line in lines if line.strip()]
    return said[-1] if said else None


def with_log(step: str, log: Path) -> str:
    line = last_log_line(log)
    return f"{step}: {line}" if line else step


def running_session(folder: Path) -> str | None:
    """The agent session that runs, by its record: step, agent, turns, tokens, last tool call."""
    for path in sorted(folder.glob("*-*.json"), reverse=True):
        record = artifacts.read_json(path)
        if record.get("state") != "running":
            continue
        tokens = record.get("tokens")
        spent = "tokens unknown" if tokens is None else f"{tokens['input_tokens'] + tokens['output_tokens']:,} tokens"
        words = [f"{record['step']}: {record['agent']}", f"{record['turns']} turns", spent, record.get("last_tool")]
        return ", ".join(word for word in words if word)
    return None


def running_step(campaign: paths.Campaign, bucket: str, version: int) -> str:
    """Which step of a version is next, by the artifacts that are there, with the last line of its log."""
    folder = campaign.version_dir(bucket, version)
    step = "profile"
    for name, following in EPISODE:
        if (folder / name).exists():
            step = following
    label = f"v{version:03d}"
    session = running_session(folder / "sessions")
    if session is not None:
        return f"{label} {session}"
    return with_log(f"{label} {step}", campaign.logs / bucket / f"{label}-{step}.log")


def bucket_progress(
    campaign: paths.Campaign, bucket: str, policy: Mapping[str, Any], failure: Mapping[str, Any] | None
) -> Progress:
    state = stop.walk(campaign, bucket, policy)
    gains = [facts.speedup for facts in state.versions if facts.outcome == "accepted"]
    known = [gain for gain in gains if gain is not None]
    if failure is not None:
        ended: str | None = f"broke in {failure['step']} of v{failure['version']:03d}"
    else:
        ended = state.reason
    return Progress(
        campaign=campaign,
        bucket=bucket,
        outcomes=tuple(facts.outcome for facts in state.versions),
        incumbent=state.incumbent.get("version"),
        speedup=math.prod(known) if len(known) == len(gains) else None,
        step="" if ended else running_step(campaign, bucket, state.last + 1),
        ended=ended,
        alarm=failure is not None,
    )


def campaign_step(campaign: paths.Campaign) -> str:
    for name, following in CAMPAIGN:
        if (campaign.root / name).exists():
            return following
    return "specs"


def progress(campaign: paths.Campaign, policy: Mapping[str, Any]) -> list[Progress]:
    """Lines of one campaign: its buckets, and itself while it is before or behind the search."""
    path = campaign.root / "failures.json"
    failures = artifacts.read_json(path)["buckets"] if path.exists() else {}
    fixed = artifacts.read_json(campaign.buckets)["buckets"] if campaign.buckets.exists() else []
    lines = [bucket_progress(campaign, entry["id"], policy, failures.get(entry["id"])) for entry in fixed]
    if is_done(campaign):
        return [*lines, Progress(campaign, "", (), None, None, "", "done, report.html is there")]
    if not fixed or all(line.ended for line in lines):
        step = campaign_step(campaign)
        step = "dispatch" if step == "search" else step
        lines.append(Progress(campaign, "", (), None, None, with_log(step, campaign.logs / f"{step}.log"), None))
    return lines


def is_done(campaign: paths.Campaign) -> bool:
    """True when the report is there and nothing it is made from is newer."""
    report = campaign.root / "report.json"
    if not report.exists():
        return False
    verdict = campaign.dispatcher / "verdict.json"
    return not verdict.exists() or verdict.stat().st_mtime <= report.stat().st_mtime


def _table(lines: Iterable[Progress]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(min_width=5, no_wrap=True)
    table.add_column(min_width=VERSIONS_WIDTH, no_wrap=True)
    for _ in ("incumbent", "speedup"):
        table.add_column(min_width=6, justify="right", no_wrap=True)
    table.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
    for line in lines:
        symbols = Text()
        for outcome in line.outcomes[-VERSIONS_WIDTH:]:
            symbols.append(SYMBOLS.get(outcome, "?"), style=COLORS.get(outcome, ""))
        best = "" if line.incumbent is None else f"v{line.incumbent:03d}"
        speedup = "" if line.speedup is None else f"{line.speedup:.2f}x"
        now = Text(line.ended, style="red" if line.alarm else "dim") if line.ended else Text(line.step)
        table.add_row(f"  {line.bucket}", symbols, best, speedup, now)
    return table


def view(lines: Iterable[Progress]) -> Any:
    """A rich renderable: each campaign's name, then a row per bucket: versions, incumbent, speedup, what runs."""
    from rich.console import Group
    from rich.text import Text

    shown: list[Any] = []
    for campaign, rows in itertools.groupby(lines, key=lambda line: line.campaign):
        where = f"on {campaign.platform}, {campaign.framework}, {campaign.mode}"
        shown += [Text.assemble((campaign.operator, "bold"), " ", where), _table(rows)]
    return Group(*shown, Text(LEGEND, style="dim")) if shown else Text("no campaign yet")


def snapshot(results: Path, operators: Sequence[str], config: Path | None) -> tuple[list[Progress], bool]:
    """Lines of every campaign by its own settings or those of `config`, and whether all of them are done.

    Raises InputError when there is none and no run that could begin one.
    """
    found = paths.Campaign.below(results, operators)
    if not found and not lock.held(results):
        names = ", ".join(operators) or "any operator"
        raise InputError(f"--operator {names}: no campaign of it in {results}, and no run is working there")
    lines = [line for one in found for line in progress(one, settings.of_campaign(one, config)["stop"])]
    return lines, bool(found) and all(map(is_done, found))


def follow(results: Path, operators: Sequence[str], config: Path | None, interval_s: float) -> None:
    """Redraw until every campaign has its report."""
    from rich.live import Live

    with Live(auto_refresh=False) as live:
        while True:
            lines, done = snapshot(results, operators, config)
            live.update(view(lines), refresh=True)
            if done:
                return
            time.sleep(interval_s)


def main(argv: list[str] | None = None) -> int:
    flags = cli.Parser(prog="kernelwright watch", description=__doc__)
    flags.add_argument("--results", type=Path, default=Path("results"))
    flags.add_argument("--operator", nargs="+", default=[], help="campaigns of these operators only")
    flags.add_argument("--config", type=Path, help="settings of the run, for its stop rules; default: those of the run")
    flags.add_argument("--once", action="store_true", help="print and exit")
    flags.add_argument("--interval", type=float, default=1.0, help="seconds between two looks")
    arguments = flags.parse_args(argv)
    if not arguments.once:
        follow(arguments.results, arguments.operator, arguments.config, arguments.interval)
        return 0
    lines, _ = snapshot(arguments.results, arguments.operator, arguments.config)
    cli.console().print(view(lines))
    return 0


main = cli.guarded(main)  # type: ignore[assignment]

if __name__ == "__main__":
    sys.exit(main())
