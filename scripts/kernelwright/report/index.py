"""A page over all campaigns of a results directory, from their report.json files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.errors import InputError

PATTERN = "*/*/*/report.json"


def _row(path: Path, report: Mapping[str, Any]) -> dict[str, Any]:
    campaign, headline = report["campaign"], report["headline"]
    return {
        "path": path.with_name("report.html"),
        "operator": campaign["operator"],
        "platform": campaign["platform"],
        "framework": campaign["framework"],
        "mode": campaign["mode"],
        "device": campaign["device"],
        "status": headline["status"],
        "speedup": headline["speedup"],
        "share_of_floor": headline["share_of_floor"],
        "counts": headline["counts"],
        "shipped": report["dispatch"]["decision"]["shipped"] if report["dispatch"] else None,
        "broken": [bucket["id"] for bucket in report["buckets"] if bucket["failure"]],
        "created_at": report["provenance"]["created_at"],
    }


def rows(results: Path) -> list[dict[str, Any]]:
    """Headline numbers of each campaign that has a report, by operator, platform and framework."""
    if not results.is_dir():
        raise InputError(f"--results {results}: no such directory")
    return [_row(path, artifacts.read(path, "report")) for path in sorted(results.glob(PATTERN))]


def render(found: list[dict[str, Any]], folder: Path) -> str:
    """The index page; links are relative to `folder`, where it will lie."""
    from kernelwright.report import page

    linked = [{**row, "link": os.path.relpath(row["path"], folder)} for row in found]
    return page.template("index.html.j2").render(
        campaigns=linked, style=page.style(), provenance=artifacts.provenance()
    )
