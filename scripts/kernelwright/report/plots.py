"""The report's plots as plotly figures; colours are names that the page's theme resolves in light and dark."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelwright.report import numbers

CONTENDER_TITLES = {"reference": "over eager", "compiled": "over torch.compile"}
# Colours are CSS variables of the template; its script puts in their values when the theme changes.
CONTENDER_MARKS = {"reference": ("var(--eager)", "circle"), "compiled": ("var(--compiled)", "diamond")}
OUTCOME_MARKS = {
    "baseline": ("var(--muted)", "circle"),
    "accepted": ("var(--accepted)", "circle"),
    "rejected": ("var(--rejected)", "circle-open"),
    "failed": ("var(--failed)", "x"),
    "invalid_problem": ("var(--failed)", "x"),
    "blocked": ("var(--muted)", "square-open"),
}
ROW_PX = 22
MIN_HEIGHT_PX = 150


def _layout(height: int, **more: Any) -> dict[str, Any]:
    axis = {"gridcolor": "var(--grid)", "zeroline": False, "linecolor": "var(--grid)", "automargin": True}
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 30, "b": 40},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--text)", "size": 12},
        "hoverlabel": {"align": "left"},
        "legend": {"orientation": "h", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom"},
        "xaxis": dict(axis),
        "yaxis": dict(axis),
    }
    for name in ("xaxis", "yaxis"):
        layout[name].update(more.pop(name, {}))
    return {**layout, **more}


def _rows_height(count: int) -> int:
    return max(MIN_HEIGHT_PX, 80 + ROW_PX * count)


def _vertical(x: float, text: str | None = None) -> dict[str, Any]:
    line: dict[str, Any] = {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    line["line"] = {"color": "var(--muted)", "width": 1, "dash": "dot"}
    if text:
        line["label"] = {"text": text, "textposition": "start", "font": {"color": "var(--muted)", "size": 11}}
    return line


def _category_axis(names: list[str]) -> dict[str, Any]:
    return {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": names[::-1],
        "range": [-0.6, len(names) - 0.4],
    }


def speedups(rows: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Speedup of the shipped kernel per workload, with intervals, against each contender."""
    timed = [row for row in rows if row["speedup"]]
    if not timed:
        return None
    traces = []
    values: list[float] = []
    for contender, title in CONTENDER_TITLES.items():
        shown = [row for row in timed if contender in row["speedup"]]
        if not shown:
            continue
        color, symbol = CONTENDER_MARKS[contender]
        estimates = [row["speedup"][contender] for row in shown]
        values += [bound for estimate in estimates for bound in (estimate["low"], estimate["high"])]
        traces.append({
            "type": "scatter", "mode": "markers", "name": title,
            "x": [estimate["value"] for estimate in estimates],
            "y": [row["id"] for row in shown],
            "error_x": {
                "type": "data", "symmetric": False, "color": color, "thickness": 1.5, "width": 3,
                "array": [estimate["high"] - estimate["value"] for estimate in estimates],
                "arrayminus": [estimate["value"] - estimate["low"] for estimate in estimates],
            },
            "marker": {"color": color, "symbol": symbol, "size": 8},
            "text": [
                f"{numbers.latency(row['contenders'][contender]['median_us'])} to "
                f"{numbers.latency(row['candidate']['median_us'])}"
                f"<br>{numbers.ratio(estimate['value'])} ({numbers.interval(estimate)})"
                for row, estimate in zip(shown, estimates, strict=True)
            ],
            "hovertemplate": f"<b>%{{y}}</b> {title}<br>%{{text}}<extra></extra>",
        })  # fmt: skip
    wide = max(values) / max(min(values), 1e-9) > 8
    axis: dict[str, Any] = {"title": {"text": "speedup, times"}, "type": "log" if wide else "linear"}
    if wide:
        axis |= {"dtick": "D2", "tickformat": "~g"}
    else:
        axis |= {"rangemode": "tozero"}
    layout = _layout(_rows_height(len(timed)), xaxis=axis, yaxis=_category_axis([row["id"] for row in timed]))
    layout["shapes"] = [_vertical(1.0)]
    return {"data": traces, "layout": layout}


def floor_shares(rows: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Share of the roofline floor that the reference, torch.compile and the shipped kernel reach."""
    known = [row for row in rows if row["floor_us"] and row["candidate"]]
    if not known:
        return None
    names = [row["id"] for row in known]

    def trace(title: str, color: str, symbol: str, size: int, medians: list[float | None]) -> dict[str, Any]:
        shares = [row["floor_us"] / median if median else None for row, median in zip(known, medians, strict=True)]
        return {
            "type": "scatter", "mode": "markers", "name": title, "x": shares, "y": names,
            "marker": {"color": color, "symbol": symbol, "size": size},
            "text": [
                f"{numbers.latency(median)}, floor {numbers.latency(row['floor_us'])} ({row['bound']})"
                for row, median in zip(known, medians, strict=True)
            ],
            "hovertemplate": f"<b>%{{y}}</b> {title}<br>%{{x:.1%}} of the floor<br>%{{text}}<extra></extra>",
        }  # fmt: skip

    def median_of(contender: str) -> list[float | None]:
        return [row["contenders"].get(contender, {}).get("median_us") for row in known]

    traces = [trace("eager", "var(--eager)", "circle-open", 8, median_of("reference"))]
    if any(median_of("compiled")):
        traces.append(trace("torch.compile", "var(--compiled)", "diamond-open", 8, median_of("compiled")))
    traces.append(
        trace("shipped kernel", "var(--accepted)", "circle", 9, [row["candidate"]["median_us"] for row in known])
    )
    shares = [share for item in traces for share in item["x"] if share]
    low, high = min(shares), max(1.0, *shares)
    axis: dict[str, Any] = {"title": {"text": "share of the roofline floor"}, "tickformat": ".0%"}
    if low < 0.05:  # a linear axis would press everything against its left edge
        axis |= {
            "type": "log",
            "dtick": 1,
            "tickformat": "~%",
            "range": [math.log10(low) - 0.1, math.log10(high) + 0.05],
        }
    else:
        axis["range"] = [0, 1.05 * high]
    layout = _layout(_rows_height(len(known)), xaxis=axis, yaxis=_category_axis(names))
    layout["shapes"] = [_vertical(1.0)]
    return {"data": traces, "layout": layout}


def _wrapped(text: str | None, width: int = 70) -> str:
    import html
    import textwrap

    return "<br>".join(html.escape(line) for line in textwrap.wrap(text or "", width)) or numbers.UNKNOWN


def _incumbent_line(versions: list[Mapping[str, Any]]) -> dict[str, Any]:
    best: list[float | None] = []
    for row in versions:
        moved = row["outcome"] in ("baseline", "accepted") and row["speedup"] is not None
        best.append(row["speedup"] if moved else (best[-1] if best else None))
    return {
        "type": "scatter", "mode": "lines", "x": [row["version"] for row in versions], "y": best, "hoverinfo": "skip",
        "line": {"shape": "hv", "color": "var(--accepted)", "width": 2}, "name": "incumbent", "showlegend": False,
    }  # fmt: skip


def history(bucket: Mapping[str, Any]) -> dict[str, Any] | None:
    """Speedup over the reference per version of a bucket; versions without a time stand on the lowest line."""
    versions = bucket["versions"]
    if len(versions) < 2:
        return None
    known = [row["speedup"] for row in versions if row["speedup"] is not None]
    low, high = min(known, default=1.0), max(known, default=1.0)
    span = max(high - low, 0.2)  # a narrower range would make noise look like progress
    bottom = low - 0.18 * span
    traces = [_incumbent_line(versions)]
    for outcome, (color, symbol) in OUTCOME_MARKS.items():
        shown = [row for row in versions if row["outcome"] == outcome]
        if shown:
            traces.append({
                "type": "scatter", "mode": "markers", "name": outcome.replace("_", " "),
                "x": [row["version"] for row in shown],
                "y": [bottom if row["speedup"] is None else row["speedup"] for row in shown],
                "marker": {
                    "color": color, "symbol": symbol, "size": 10,
                    "line": {"color": color, "width": 2 if "open" in symbol else 0},
                },
                "text": [
                    f"{_wrapped(row['hypothesis'])}<br><i>{_wrapped(row['sentence'])}</i>"
                    f"<br>{'not timed' if row['speedup'] is None else numbers.ratio(row['speedup']) + ' over eager'}"
                    for row in shown
                ],
                "hovertemplate": f"<b>v%{{x:03d}} {outcome}</b><br>%{{text}}<extra></extra>",
            })  # fmt: skip
    dtick = max(1, (versions[-1]["version"] + 19) // 20)
    x_axis = {"title": {"text": "version"}, "dtick": dtick, "range": [-0.5, versions[-1]["version"] + 0.5]}
    untimed = any(row["speedup"] is None for row in versions)
    y_axis = {
        "title": {"text": "over eager"},
        "range": [bottom - 0.08 * span, low + 1.12 * span],
        "ticksuffix": numbers.TIMES,
    }
    layout = _layout(250, xaxis=x_axis, yaxis=y_axis)
    if untimed:
        layout["annotations"] = [{
            "x": 0, "xref": "paper", "y": bottom, "text": "not timed", "showarrow": False, "xanchor": "left",
            "font": {"color": "var(--muted)", "size": 11}, "bgcolor": "var(--surface)",
        }]  # fmt: skip
    return {"data": traces, "layout": layout}


def figures(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every figure of the page by the id of its element; a figure without data is left out."""
    found = {"plot-speedup": speedups(report["workloads"]), "plot-floor": floor_shares(report["workloads"])}
    found |= {f"plot-{bucket['id']}": history(bucket) for bucket in report["buckets"]}
    return {key: figure for key, figure in found.items() if figure is not None}


def javascript() -> str:
    """plotly's own JavaScript, to be inlined once."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()
