"""Cards of the wiki for a session: one by its id, or the best matches of some words in the session's scope."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST_CARDS = 8
MOST_CHARS = 6000
KEYS = ("id", "kind", "title", "summary")


def look_up(words: str, config: Mapping[str, Any], specs: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """{"card", "text"} for an id; else {"cards"} on the platform and framework of `specs`. Raises InputError."""
    from kernelwright.knowledge.wiki import index, query, sources

    opened = index.opened(sources.everything(config))
    try:
        known = dict(opened.db.execute("SELECT id, path FROM cards"))
        if words in known:
            return {"card": words, "text": Path(known[words]).read_text()[:MOST_CHARS]}
        scope = query.scope_of(None)
        if specs is not None:
            scope = query.scope_of(specs["platform"]["name"], framework=str(specs["framework"]))
        found = query.search(opened, words, scope, limit=MOST_CARDS)["cards"]
    finally:
        opened.close()
    return {"cards": [{key: card[key] for key in KEYS} for card in found], "known": len(known)}
