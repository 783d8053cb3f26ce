"""What a card's experiment and its use in campaigns have shown, in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.errors import InputError
from kernelwright.knowledge.wiki import experiments
from kernelwright.knowledge.wiki.sources import Source

FLAGS = {
    "gone": "EFFECT GONE: the last run found no measurable gain",
    "broken": "BROKEN: a kernel of the pair did not pass the judge",
    "stale": "STALE: the kernels changed after the measurement",
}


def of_card(card: str, wiki: Path) -> dict[str, Any]:
    """{state, change, results: platform -> state, effect, device, date} of a card's experiment."""
    experiment = experiments.load(wiki, card)
    if experiment is None:
        return {"state": "none", "change": None, "results": {}}
    results = {}
    for platform in experiment.platforms_measured():
        state, result = experiments.state(experiment, platform)
        assert result is not None  # its file was listed
        results[platform] = {
            "state": state,
            "effect": result["effect"],
            "device": result["device"],
            "date": result["provenance"]["created_at"][:10],
        }
    states = {row["state"] for row in results.values()}
    worst = next((name for name in ("broken", "gone", "stale", "holds") if name in states), "unmeasured")
    return {"state": worst, "change": experiment.facts["change"], "results": results}


def phrase(shown: Mapping[str, Any]) -> str:
    """One line: effect with interval, platform and date, or why there is none."""
    if shown["state"] == "none":
        return "no experiment"
    if not shown["results"]:
        return "experiment prepared, unmeasured"
    parts = []
    for platform, row in shown["results"].items():
        effect = row["effect"]
        number = f"{effect['value']:.2f}x ({effect['low']:.2f} to {effect['high']:.2f})" if effect else "no time"
        flag = f"; {FLAGS[row['state']]}" if row["state"] in FLAGS else ""
        parts.append(f"{number} on {platform} ({row['device'] or 'device unknown'}), {row['date']}{flag}")
    return "; ".join(parts)


def best(shown: Mapping[str, Any], platform: str | None = None) -> float | None:
    """The effect on a platform, or the largest of all, where it holds; None otherwise."""
    values = [
        row["effect"]["value"]
        for name, row in shown["results"].items()
        if row["state"] == "holds" and row["effect"] and platform in (None, name)
    ]
    return max(values, default=None)


def usage(results: Path) -> dict[str, dict[str, Any]]:
    """Card id -> {planned, judged, accepted, gains} over every campaign below `results`. Raises InputError."""
    if not results.is_dir():
        raise InputError(f"--results {results}: no such directory")
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(results.glob("*/*/*-*/b[0-9][0-9]/v[0-9][0-9][0-9]/plan.json")):
        plan = artifacts.read_json(path)
        memory = _memory_beside(path)
        for card in plan.get("wiki") or []:
            row = found.setdefault(card, {"planned": 0, "judged": 0, "accepted": 0, "gains": []})
            row["planned"] += 1
            if memory is not None and memory["outcome"] != "blocked":
                row["judged"] += 1
                if memory["outcome"] == "accepted":
                    row["accepted"] += 1
                    row["gains"] += [memory["speedup"]] if memory["speedup"] else []
    return {card: {**row, "gain": geomean(row["gains"])} for card, row in sorted(found.items())}


def _memory_beside(plan: Path) -> dict[str, Any] | None:
    path = plan.with_name("memory.json")
    return artifacts.read(path, "memory") if path.is_file() and not artifacts.is_pass_through(path) else None


def geomean(values: Sequence[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def directory_of(source: str, sources: Iterable[Source]) -> Path:
    return next(item.directory for item in sources if item.name == source)
