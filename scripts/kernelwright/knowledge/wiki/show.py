"""Answers and cards as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernelwright.knowledge.wiki.cards import Card

Effects = Mapping[str, Mapping[str, Any]]


def answer(found: Mapping[str, Any], said: Mapping[str, str]) -> str:
    """The result of a query; `said` is a line on the effect of each card."""
    from kernelwright.knowledge.wiki.query import quoted

    lines = [f"read as {better} for {quoted(word)}" for word, better in found["corrections"].items()]
    if found["status"] != "matched":
        lines.append(f"{found['status'].replace('_', ' ')}: {found['note']}")
    elif found["not_in_any_card"]:
        lines.append(found["note"])
    for place, card in enumerate(found["cards"], 1):
        lines += [
            f"{place}. {card['id']}  [{card['kind']}: {', '.join(card['bounds']) or 'no bound'}]  {card['title']}",
            f"   {card['summary']}",
            f"   {said[card['id']]}; {card['attribution']}",
        ]
    return "\n".join(lines)


def scope(card: Card) -> str:
    return "; ".join(f"{name}: {', '.join(values)}" for name, values in card.facts["applies_to"].items())


def page(card: Card, effect: Mapping[str, Any], phrase: str, used: Mapping[str, Any] | None) -> str:
    """A card with its measured effect and its use."""
    facts = card.facts
    lines = [f"# {facts['title']}", "", facts["summary"], "", f"*{card.kind} `{card.id}`; {scope(card)}*", ""]
    lines += [card.body.strip(), "", "## Evidence", "", f"- Experiment: {phrase}"]
    if effect["change"]:
        lines.append(f"- The second kernel: {effect['change']}")
    if (speedup := facts["origin"].get("speedup")) is not None:
        lines.append(
            f"- Campaign {facts['origin']['campaign']}: {speedup['value']:.3g}x "
            f"({speedup['low']:.3g} to {speedup['high']:.3g}), {facts['origin']['outcome']}"
        )
    if used is not None:
        lines.append(f"- Use: {use(used)}")
    lines += ["", "## Sources", ""]
    lines += [
        f"- {', '.join(str(item[key]) for key in ('title', 'date', 'url') if key in item)}" for item in facts["sources"]
    ]
    return "\n".join(lines)


def use(row: Mapping[str, Any] | None) -> str:
    """How often plans cite a card and what came of it."""
    if row is None:
        return "cited by no plan"
    gain = f", their gains' geometric mean {row['gain']:.3g}x" if row["gain"] else ""
    return f"cited by {row['planned']} plans, {row['judged']} judged, {row['accepted']} accepted{gain}"


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns of equal width."""
    kept = list(rows)
    widths = [max(len(row[i]) for row in kept) for i in range(len(kept[0]) - 1)] if kept else []
    return "\n".join(
        "  ".join([*(f"{text:<{w}}" for text, w in zip(row, widths, strict=False)), row[-1]]) for row in kept
    )
