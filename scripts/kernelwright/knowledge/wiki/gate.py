"""What a card must pass before it is admitted: schema, scope, provenance, no duplicate, no conflict with evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelwright import artifacts
from kernelwright.errors import InputError
from kernelwright.knowledge.wiki import cards
from kernelwright.knowledge.wiki.cards import ANY, SCOPES, Card

CHECKS = ("schema", "scope", "provenance", "duplicate", "conflict")
ALIKE = 0.75  # share of common words from which two cards of one kind say the same
FRAMEWORK_VENDORS = {
    "cpp": ("cpu",),
    "triton": ("nvidia", "amd"),
    "gluon": ("nvidia", "amd"),
    "cuda": ("nvidia", "ppu"),
    "cutedsl": ("nvidia",),
    "tilelang": ("nvidia", "amd"),
    "flydsl": ("amd",),
    "hip": ("amd",),
}


@dataclass(frozen=True)
class Finding:
    """One thing that keeps a card out."""

    check: str
    sentence: str


@cache
def architecture_vendors() -> dict[str, str]:
    """Architecture -> vendor, from the platform files."""
    from kernelwright.knowledge import platforms

    return {platform.architecture: platform.vendor for platform in platforms.everyone()}


def scope_findings(card: Card) -> list[Finding]:
    """Architectures and frameworks must be of the card's vendors."""
    vendors, found = card.scope("vendors"), []
    for architecture in card.scope("architectures"):
        vendor = architecture_vendors().get(architecture)
        if architecture != ANY and ANY not in vendors and vendor not in vendors:
            found.append(
                Finding("scope", f"architecture {architecture} is of {vendor}, the card of {', '.join(vendors)}")
            )
    for framework in card.scope("frameworks"):
        allowed = FRAMEWORK_VENDORS.get(framework, ())
        if framework != ANY and (ANY in vendors or not set(vendors) <= set(allowed)):
            found.append(
                Finding("scope", f"framework {framework} is of {', '.join(allowed)}, the card of {', '.join(vendors)}")
            )
    return found


def provenance_findings(card: Card, known: Iterable[str], results: Path | None) -> list[Finding]:
    """Where the card comes from can be read up: documents with addresses, or artifacts with their digests."""
    origin, sources = card.facts["origin"], card.facts["sources"]
    found = [
        Finding("provenance", f"related: {name!r} is no card")
        for name in card.facts["related"]
        if name not in {*known, card.id}
    ]
    if origin["by"] == "authored":
        found += [
            Finding("provenance", f"source {item['title']!r} has no url") for item in sources if "url" not in item
        ]
        return found
    if not any("sha256" in item for item in sources):
        found.append(Finding("provenance", "a card of a campaign names no artifact with its sha256"))
    speedup, outcome = origin["speedup"], origin["outcome"]
    if outcome == "accepted" and (speedup is None or speedup["low"] <= 1):
        found.append(Finding("provenance", "an accepted version without a speedup above 1 in its whole interval"))
    if (outcome == "accepted") != (card.kind == "technique"):
        found.append(Finding("provenance", f"outcome {outcome} does not make a {card.kind}"))
    return found + (artifact_findings(card, results) if results is not None else [])


def artifact_findings(card: Card, results: Path) -> list[Finding]:
    """The artifacts that the card names are below `results` and unchanged."""
    found = []
    for item in card.facts["sources"]:
        if "sha256" not in item:
            continue
        path = results / item["title"]
        if not path.is_file():
            found.append(Finding("provenance", f"{path}: no such artifact"))
        elif artifacts.sha256_file(path) != item["sha256"]:
            found.append(Finding("provenance", f"{path}: not the artifact that the card was made from"))
    return found


def overlap(one: Card, other: Card) -> bool:
    """Whether some case is in both scopes."""
    for scope in SCOPES:
        left, right = set(one.scope(scope)), set(other.scope(scope))
        if ANY not in left | right and not left & right:
            return False
    return True


def vocabulary(card: Card) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", f"{card.facts['title']} {card.facts['summary']} {card.body}".lower()))


def alike(one: Card, other: Card) -> float:
    """Common words over all words."""
    left, right = vocabulary(one), vocabulary(other)
    return len(left & right) / max(1, len(left | right))


def subject(card: Card) -> tuple[str, ...] | None:
    """What a campaign's card is about: its tags; None for other cards."""
    return tuple(card.facts["tags"]) if card.facts["origin"]["by"] == "campaign" else None


def duplicate_findings(card: Card, others: Iterable[Card]) -> list[Finding]:
    found = []
    for other in others:
        if other.id == card.id:
            found.append(Finding("duplicate", f"id {card.id} is taken by {other.path}"))
        elif other.facts["title"].lower() == card.facts["title"].lower():
            found.append(Finding("duplicate", f"the title is that of {other.id}"))
        elif other.kind == card.kind and overlap(card, other) and alike(card, other) >= ALIKE:
            found.append(Finding("duplicate", f"says what {other.id} says ({alike(card, other):.0%} common words)"))
    return found


def conflict_findings(card: Card, others: Iterable[Card]) -> list[Finding]:
    """A gain where admitted evidence has none for the same subject in an overlapping scope, or the reverse."""
    mine = card.facts["origin"].get("speedup")
    found = []
    for other in others:
        theirs = other.facts["origin"].get("speedup")
        if subject(card) is None or subject(card) != subject(other) or not overlap(card, other):
            continue
        if mine is None or theirs is None:
            continue
        if max(mine["low"], theirs["low"]) > 1 >= min(mine["high"], theirs["high"]):
            found.append(
                Finding(
                    "conflict",
                    f"{mine['value']:.2f}x here, {theirs['value']:.2f}x in {other.id} for the same subject and scope",
                )
            )
    return found


def check(card: Card, others: Sequence[Card], results: Path | None = None) -> list[Finding]:
    """Everything that keeps a parsed card out, `others` being the admitted cards; empty when it may pass."""
    rest = [other for other in others if other.path.resolve() != card.path.resolve()]
    return [
        *scope_findings(card),
        *provenance_findings(card, [other.id for other in rest], results),
        *duplicate_findings(card, rest),
        *conflict_findings(card, rest),
    ]


def check_file(path: Path, others: Sequence[Card], results: Path | None = None) -> tuple[Card | None, list[Finding]]:
    """(the card, what keeps it out); no card when it does not meet its schema."""
    try:
        card = cards.read(path)
    except InputError as error:
        return None, [Finding("schema", str(error))]
    return card, check(card, others, results)


def admit(card: Card, wiki: Path) -> Path:
    """Copy a card that passed into a wiki; returns where it is now."""
    target = wiki / cards.FOLDERS[card.kind] / f"{card.id}.md"
    artifacts.write_text(target, cards.text_of(card.facts, card.body))
    return target
