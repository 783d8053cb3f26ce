"""A verdict for a person at a terminal."""

from __future__ import annotations

from typing import Any

LOG_LINES = 12
COLOURS = {"accepted": "green", "rejected": "red", "failed": "red", "invalid_problem": "yellow"}


def show(verdict: dict[str, Any]) -> None:
    """Print status, stages, one row per workload and what the kernel printed."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = 200  # a file or a pipe has no edge to wrap at
    code = f" ({verdict['reason']})" if verdict["reason"] else ""
    headline = Text.assemble(
        (f"{verdict['status']}{code}", f"bold {COLOURS[verdict['status']]}"), f": {verdict['sentence']}"
    )
    console.print(headline)
    console.print(Text(", ".join(f"{stage['name']} {stage['status']}" for stage in verdict["stages"])))
    if verdict["correctness"]["workloads"]:
        console.print(table(verdict))
    for label, estimate in (verdict["timing"] or {"geomean": {}})["geomean"].items():
        console.print(Text(f"geomean speedup over {label}: {interval(estimate)}"))
    for note in (verdict["timing"] or {}).get("notes", []):
        console.print(Text(f"note: {note}"))
    isolation = verdict["isolation"]
    missing = f"; missing: {', '.join(isolation['missing'])}" if isolation["missing"] else ""
    console.print(Text(f"isolation: {isolation['level']}{missing}; {verdict['duration_s']:.1f} s"))
    if verdict["status"] != "accepted" and verdict["log"].strip():
        console.print(
            Text("\n".join(["last lines of the kernel's log:", *verdict["log"].strip().splitlines()[-LOG_LINES:]]))
        )


def table(verdict: dict[str, Any]) -> Any:
    """One row per workload: correctness, latencies, speedups, share of the floor."""
    from rich.table import Table

    timing = verdict["timing"] or {"workloads": {}, "geomean": {}}
    labels = list(timing["geomean"])
    made = Table(box=None, pad_edge=False, header_style="bold")
    made.add_column("workload", no_wrap=True)
    for name in (
        "correct",
        "worst error",
        "error ratio",
        "median us",
        "interval us",
        *(f"vs {label}" for label in labels),
        "of floor",
    ):
        made.add_column(name, justify="right", no_wrap=True)
    for key, entry in verdict["correctness"]["workloads"].items():
        timed = timing["workloads"].get(key)
        cells = ["yes" if entry["passed"] else "NO", number(entry["worst_error"]), number(entry["error_ratio"])]
        if timed is None:
            cells += ["-"] * (3 + len(labels))
        else:
            own = timed["candidate"]
            cells += [f"{own['median_us']:.1f}", f"{own['low_us']:.1f} to {own['high_us']:.1f}"]
            cells += [interval(timed["speedup"][label]) for label in labels]
            cells.append("-" if timed["share_of_floor"] is None else f"{timed['share_of_floor']:.0%}")
        made.add_row(key, *cells)
    return made


def interval(estimate: dict[str, float]) -> str:
    return f"{estimate['value']:.2f} ({estimate['low']:.2f} to {estimate['high']:.2f})"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
