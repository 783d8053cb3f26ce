"""Render report.html from the body of report.json: one page, its styles, scripts and data inside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kernelwright.report import numbers, plots

FOLDER = Path(__file__).resolve().parent
SECTIONS = (
    ("workloads", "Workloads"),
    ("map", "Dispatch"),
    ("versions", "Versions"),
    ("kernel", "Kernel"),
    ("reproduce", "Reproduce"),
)


@cache
def template(name: str) -> Any:
    """A template of this folder."""
    import jinja2

    loader = jinja2.FileSystemLoader(FOLDER)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.ChainableUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(numbers.FILTERS)
    return environment.get_template(name)


def safe(text: str) -> Any:
    """Text of this package that goes into the page as it is."""
    import markupsafe

    return markupsafe.Markup(text)


def style() -> Any:
    return safe((FOLDER / "style.css").read_text())


def script_json(value: Any) -> Any:
    """JSON for a <script> element: nothing in it can end the element."""
    return safe(json.dumps(value).replace("<", "\\u003c"))


def _bytes(row: Mapping[str, Any]) -> int | None:
    traffic = row["traffic"] or {}
    read, written = traffic.get("read_bytes"), traffic.get("write_bytes")
    return None if read is None or written is None else read + written


def _stops(report: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """(reason, buckets that it ended), in bucket order."""
    grouped: dict[str, list[str]] = {}
    for bucket in report["buckets"]:
        if not bucket["failure"]:
            grouped.setdefault(bucket["stop"] or "still open", []).append(bucket["id"])
    return list(grouped.items())


def _confidence(report: Mapping[str, Any]) -> str:
    shown = [item["value"] for item in report["environment"] if item["name"] == "confidence of intervals"]
    return shown[0] if shown else "bootstrap"


def render(report: Mapping[str, Any]) -> str:
    """The whole page as text."""
    figures = plots.figures(report)
    rows = [{**row, "bytes": _bytes(row)} for row in report["workloads"]]
    return template("template.html.j2").render(
        **{**report, "workloads": rows},
        style=style(),
        sections=SECTIONS,
        stops=_stops(report),
        timed=sum(row["candidate"] is not None for row in rows),
        floors_known=sum(row["share_of_floor"] is not None for row in rows),
        confidence=_confidence(report),
        plots=set(figures),
        figures=script_json(figures),
        plotly=safe(plots.javascript()) if figures else "",
    )
