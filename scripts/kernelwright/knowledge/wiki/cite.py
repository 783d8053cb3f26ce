"""Which cards a plan should cite, and whether those that it cites exist."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.errors import InputError
from kernelwright.knowledge.wiki import effects, index, query, sources

MOST = 3  # cards per plan
FLAGGED = ("gone", "broken")  # states on the campaign's own platform that keep a card out of plans
KINDS = ("technique", "pitfall", "kernel")


def for_plan(
    specs: Mapping[str, Any], profile: Mapping[str, Any], family: str | None, words: str, config: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Cards in the campaign's scope for the top bottleneck, the best first; `words` say what is planned.

    `effect` of a card says what its experiment showed; one without effect on this platform is left out.
    """
    bottlenecks = profile.get("bottlenecks") or []
    bound = bottlenecks[0]["bound"] if bottlenecks else None
    note = bottlenecks[0].get("note", "") if bottlenecks else ""
    scope = query.scope_of(specs["platform"]["name"], framework=str(specs["framework"]), family=family, bound=bound)
    wikis = sources.everything(config)
    opened = index.opened(wikis)
    try:
        found = query.search(opened, f"{words} {note}", scope, limit=4 * MOST)["cards"]
    finally:
        opened.close()
    chosen: list[dict[str, Any]] = []
    for card in sorted(found, key=lambda card: card["kind"] == "pitfall"):  # what to do before what not to do
        shown = effects.of_card(card["id"], effects.directory_of(card["source"], wikis))
        here = shown["results"].get(specs["platform"]["name"], {}).get("state")
        if card["kind"] in KINDS and here not in FLAGGED and len(chosen) < MOST:
            chosen.append({**card, "effect": effects.phrase(shown)})
    return chosen


def files(ids: list[str], config: Mapping[str, Any]) -> dict[str, Path]:
    """Card id -> file. Raises InputError naming an id that no card has and the one most like it."""
    if not ids:
        return {}
    opened = index.opened(sources.everything(config))
    try:
        known = dict(opened.db.execute("SELECT id, path FROM cards"))
    finally:
        opened.close()
    for name in ids:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; {len(known)} cards are known"
            raise InputError(f"plan: wiki: {name!r} is no card{hint}")
    return {name: Path(known[name]) for name in ids}
