"""Small wikis for the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright.knowledge.wiki import cards

ANYWHERE = {"vendors": ["any"], "architectures": ["any"], "frameworks": ["any"], "families": ["any"]}
ESTIMATE = {"value": 1.5, "low": 1.4, "high": 1.6}


def facts(name: str = "a-card", kind: str = "technique", **changes: Any) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "id": name,
        "kind": kind,
        "title": f"Title of {name}",
        "summary": "A sentence that is long enough for a summary.",
        "applies_to": dict(ANYWHERE),
        "bounds": ["memory"],
        "symptoms": [],
        "tags": [],
        "sources": [{"title": "A document", "url": "https://example.org/document"}],
        "related": [],
        "origin": {"by": "authored", "date": "2026-01-02"},
        **changes,
    }


def campaign_facts(name: str = "a-card", speedup: dict[str, float] | None = ESTIMATE, **changes: Any) -> dict[str, Any]:
    kind = "technique" if changes.get("outcome", "accepted") == "accepted" else "pitfall"
    origin = {
        "by": "campaign", "date": "2026-01-02", "campaign": "op/cpu/cpp-leaderboard", "bucket": "b00", "version": 1,
        "outcome": changes.pop("outcome", "accepted"), "reason": None, "device": None, "speedup": speedup,
    }  # fmt: skip
    source = {"title": "op/cpu/cpp-leaderboard/b00/v001/verdict.json", "sha256": "0" * 64}
    return {**facts(name, kind), "origin": origin, "sources": [source], "tags": ["template", "row_norm"], **changes}


def body(kind: str = "technique", text: str = "Some words.") -> str:
    return "\n\n".join(f"## {name}\n\n{text}" for name in cards.SECTIONS[kind])


def write(wiki: Path, head: dict[str, Any], text: str = "Some words.") -> Path:
    path = wiki / cards.FOLDERS[head["kind"]] / f"{head['id']}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(cards.text_of(head, body(head["kind"], text)))
    return path


def scope(**values: list[str]) -> dict[str, Any]:
    return {**ANYWHERE, **values}
