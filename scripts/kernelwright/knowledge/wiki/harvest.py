"""Candidate cards of a finished campaign: what each idea was, on what evidence it was tried, and what the judge measured.

An accepted version gives a technique card, any other a pitfall card; of several versions with one subject the best
remains. Nothing is admitted here: that is the gate's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.knowledge import platforms
from kernelwright.knowledge.wiki import cards
from kernelwright.paths import Campaign

FOLDER = "cards"


def versions(campaign: Campaign) -> Iterator[tuple[dict[str, Any], dict[str, Any], Path]]:
    """(memory, verdict, folder) of every judged version."""
    for path in sorted(campaign.root.glob("b[0-9][0-9]/v[0-9][0-9][0-9]/memory.json")):
        if artifacts.is_pass_through(path):
            continue
        memory = artifacts.read(path, "memory")
        if memory["outcome"] != "blocked":
            yield memory, artifacts.read_json(path.with_name("verdict.json")), path.parent


def subject(memory: Mapping[str, Any]) -> list[str]:
    """Words that two versions with the same idea have in common."""
    recipe = memory.get("recipe") or {}
    if recipe.get("source"):
        words = [recipe["source"], *filter(None, [recipe.get("template")])]
    else:
        words = [memory["category"], *re.findall(r"[a-z0-9]+", memory["change"].lower())[:6]]
    return list(dict.fromkeys(word for word in words if len(word) > 1))


def slug(*words: str) -> str:
    """An id of at most 60 characters."""
    text = "-".join(re.findall(r"[a-z0-9]+", " ".join(words).lower()))
    return text[:60].rstrip("-") if text[:1].isalpha() else f"c-{text[:58]}".rstrip("-")


def estimate(verdict: Mapping[str, Any]) -> dict[str, float] | None:
    """Speedup over the incumbent with its interval, None when it was not timed."""
    found = ((verdict.get("timing") or {}).get("geomean") or {}).get("incumbent")
    return None if found is None else {key: found[key] for key in ("value", "low", "high")}


def card(
    campaign: Campaign, specs: Mapping[str, Any], memory: Mapping[str, Any], verdict: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], str]:
    """(front matter, body) of one version."""
    accepted = memory["outcome"] == "accepted"
    words = subject(memory)
    platform = platforms.load(campaign.platform)
    where = f"{campaign.operator} on {campaign.platform} in {campaign.framework}"
    kind = "technique" if accepted else "pitfall"
    profile = artifacts.read_json(folder / "profile.json") if (folder / "profile.json").is_file() else {}
    bound = [entry["bound"] for entry in profile.get("bottlenecks", [])[:1]]
    title = f"{' '.join(words)} for {where}"
    facts = {
        "schema_version": 1,
        "id": slug(kind[:4], campaign.operator, campaign.platform, campaign.framework, *words),
        "kind": kind,
        "title": (title if len(title) <= 90 else title[:87] + "...") if accepted else f"{title}: no gain"[:90],
        "summary": shortened(f"{where}: {memory['lesson']}"),
        "applies_to": {
            "vendors": [platform.vendor],
            "architectures": [platform.architecture],
            "frameworks": [campaign.framework],
            "families": [specs["operator"].get("family") or "any"],
        },
        "bounds": bound,
        "symptoms": [f"{entry['metric']} {number(entry['value'])} {entry['unit']}" for entry in memory["evidence"]],
        "tags": words,
        "sources": documents(campaign, folder),
        "related": list(memory["wiki"]),
        "origin": origin(campaign, specs, memory, verdict),
    }
    return facts, body_of(kind, memory, verdict, where)


def documents(campaign: Campaign, folder: Path) -> list[dict[str, str]]:
    """The artifacts of a version that a card rests on, with their digests."""
    found = [folder / name for name in ("plan.json", "verdict.json") if (folder / name).is_file()]
    return [{"title": str(path.relative_to(campaign.results)), "sha256": artifacts.sha256_file(path)} for path in found]


def origin(
    campaign: Campaign, specs: Mapping[str, Any], memory: Mapping[str, Any], verdict: Mapping[str, Any]
) -> dict[str, Any]:
    """Which version of which campaign a card comes from, and what the judge said of it."""
    return {
        "by": "campaign",
        "date": memory["provenance"]["created_at"][:10],
        "campaign": str(campaign.root.relative_to(campaign.results)),
        "bucket": memory["bucket"],
        "version": memory["version"],
        "outcome": memory["outcome"],
        "reason": memory["reason"],
        "device": specs["platform"]["device"],
        "speedup": estimate(verdict),
    }


def body_of(kind: str, memory: Mapping[str, Any], verdict: Mapping[str, Any], where: str) -> str:
    effect = estimate(verdict)
    measured = (
        f"Measured: {effect['value']:.3g} times the incumbent's speed ({effect['low']:.3g} to {effect['high']:.3g})."
        if effect
        else "It was not timed."
    )
    evidence = [f"- {entry['metric']}: {number(entry['value'])} {entry['unit']}" for entry in memory["evidence"]]
    shown = "\n".join(evidence) or "- none cited"
    told = {
        "technique": {
            "Mechanism": ended(memory["hypothesis"]),
            "When": f"Profile of the incumbent for {where}:\n\n{shown}",
            "When not": f"Nothing is known outside of {where}.",
            "How": f"{ended(memory['change'])}\n\n{measured}",
        },
        "pitfall": {
            "What happens": f"{ended(memory['change'])}\n\n{ended(verdict['sentence'])} {measured}",
            "Why": f"Expected: {ended(memory['hypothesis'])} Evidence at the time:\n\n{shown}",
            "Instead": "Unknown; the versions after it in the same campaign may say.",
        },
    }[kind]
    return "\n\n".join(f"## {name}\n\n{text}" for name, text in told.items())


def number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def ended(text: str) -> str:
    """A sentence with its first letter large and its full stop."""
    text = text.strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."


def shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:297] + "..."


def better(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether card `one` has the larger measured speedup."""
    left, right = (facts["origin"]["speedup"] for facts in (one, other))
    return left is not None and (right is None or left["value"] > right["value"])


def harvest(campaign: Campaign) -> list[Path]:
    """Write the campaign's candidate cards below its folder; returns the files. Raises InputError."""
    if not campaign.specs.is_file():  # nothing was tried
        return []
    specs = artifacts.read(campaign.specs, "specs")
    chosen: dict[str, tuple[dict[str, Any], str]] = {}
    for memory, verdict, folder in versions(campaign):
        facts, body = card(campaign, specs, memory, verdict, folder)
        if facts["id"] not in chosen or better(facts, chosen[facts["id"]][0]):
            chosen[facts["id"]] = (facts, body)
    files = []
    for name, (facts, body) in sorted(chosen.items()):
        files.append(campaign.root / FOLDER / f"{name}.md")
        text = cards.text_of(facts, body)
        cards.parse(text, files[-1])
        if not files[-1].is_file() or files[-1].read_text() != text:
            artifacts.write_text(files[-1], text)
    return files
