"""A short summary of report.json for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright import cli
from kernelwright.report import numbers

SYMBOLS = {"baseline": "o", "accepted": "+", "rejected": "-", "failed": "x", "invalid_problem": "!", "blocked": "."}
COLORS = {"accepted": "green", "rejected": "yellow", "failed": "red", "invalid_problem": "red"}


def _estimate(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return numbers.UNKNOWN
    return f"{numbers.ratio(estimate['value'])} ({numbers.interval(estimate)})"


def _facts(report: Mapping[str, Any]) -> Any:
    from rich.table import Table

    headline, campaign = report["headline"], report["campaign"]
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in headline["counts"].items() if count)
    table = Table.grid(padding=(0, 2))
    table.add_row(
        "campaign", f"{campaign['operator']} on {campaign['platform']}, {campaign['framework']}, {campaign['mode']}"
    )
    table.add_row("device", campaign["device"] or numbers.UNKNOWN)
    table.add_row("verdict", f"{headline['status']}: {headline['sentence']}")
    table.add_row("over eager", _estimate(headline["speedup"].get("reference")))
    table.add_row("over torch.compile", _estimate(headline["speedup"].get("compiled")))
    table.add_row("share of roofline", numbers.percent(headline["share_of_floor"]))
    table.add_row("versions", counts or "none")
    if report["dispatch"]:
        table.add_row("shipped", report["dispatch"]["decision"]["sentence"])
    for name in report["missing"]:
        table.add_row("missing", name)
    return table


def _buckets(report: Mapping[str, Any]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("bucket", "versions"):
        table.add_column(title)
    table.add_column("incumbent", justify="right")
    table.add_column("over eager", justify="right")
    table.add_column("ended by")
    for bucket in report["buckets"]:
        symbols = Text()
        for row in bucket["versions"]:
            symbols.append(SYMBOLS[row["outcome"]], style=COLORS.get(row["outcome"], ""))
        best = next((row for row in bucket["versions"] if row["version"] == bucket["incumbent"]), None)
        label = numbers.UNKNOWN if bucket["incumbent"] is None else f"v{bucket['incumbent']:03d}"
        speedup = numbers.ratio(best["speedup"] if best else None)
        ended = Text(bucket["failure"], style="red") if bucket["failure"] else Text(bucket["stop"] or "still open")
        table.add_row(bucket["id"], symbols, label, speedup, ended)
    return table


def show(report: Mapping[str, Any], console: Any = None) -> None:
    """Print the summary; `console` is a rich Console."""
    console = console or cli.console()
    console.print(_facts(report))
    if report["buckets"]:
        console.print()
        console.print(_buckets(report))
