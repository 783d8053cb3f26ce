"""Cards of gpu-wiki by id or by words. A card is a Markdown file; its id is its name without the ending."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright import paths

MOST_CARDS = 8
MOST_CHARS = 6000


def cards(root: Path | None = None) -> dict[str, Path]:
    """Card id -> file. Pages named README and what lies under experiments/ are no cards."""
    root = root or paths.project_root() / "gpu-wiki"
    found = sorted(root.rglob("*.md")) if root.is_dir() else []
    return {path.stem: path for path in found if path.stem != "README" and "experiments" not in path.parts}


def look_up(query: str, root: Path | None = None) -> dict[str, Any]:
    """{"card", "text"} for an id; else {"cards"}: the best matches of the words, each with its first heading."""
    known = cards(root)
    if query in known:
        return {"card": query, "text": known[query].read_text()[:MOST_CHARS]}
    words = [word.lower() for word in query.split()]
    scored = []
    for key, path in known.items():
        text = path.read_text()
        low = f"{key} {text}".lower()
        score = sum(low.count(word) for word in words)
        if score or not words:
            title = next((line.lstrip("# ") for line in text.splitlines() if line.startswith("#")), key)
            scored.append((-score, key, title))
    return {
        "cards": [{"id": key, "title": title} for _, key, title in sorted(scored)[:MOST_CARDS]],
        "known": len(known),
    }
