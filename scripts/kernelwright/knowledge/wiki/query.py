"""Find cards: scope first, then words by BM25; misspelt words are corrected and said to be.

A card outside the asked platform, framework, family, bound or symptom is never ranked. When nothing is left, the answer
says whether no card has the words or none of those that have them is in scope.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.errors import InputError
from kernelwright.knowledge.wiki.index import WORD, Index, mask

WEIGHTS = (6.0, 3.0, 4.0, 4.0, 1.0)  # of title, summary, symptoms, tags, body
# fmt: off
STOPWORDS = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "get", "how", "i", "if", "in",
    "into", "is", "it", "its", "kernel", "make", "my", "no", "not", "of", "on", "or", "so", "than", "that", "the", "their",
    "then", "there", "these", "this", "to", "too", "use", "using", "was", "what", "when", "where", "which", "while", "who",
    "why", "will", "with", "you",
])
# fmt: on
LEAST_LIKENESS = 0.72  # of a correction; below it a word is left as it is
NEIGHBOURS = 60


@dataclass(frozen=True)
class Scope:
    """Hard filters; None is no filter."""

    vendor: str | None = None
    architecture: str | None = None
    framework: str | None = None
    family: str | None = None
    bound: str | None = None
    kind: str | None = None
    symptom: str | None = None  # words that the card's list of symptoms must have

    def columns(self) -> dict[str, str | None]:
        return {
            "vendors": self.vendor,
            "architectures": self.architecture,
            "frameworks": self.framework,
            "families": self.family,
            "bounds": self.bound,
        }


def scope_of(platform: str | None, **others: str | None) -> Scope:
    """Scope of a platform by name or alias, and of the other filters. Raises InputError for an unknown platform."""
    if platform is None:
        return Scope(**others)
    from kernelwright.knowledge import platforms

    found = platforms.load(platform)
    return Scope(vendor=found.vendor, architecture=found.architecture, **others)


def condition(index: Index, scope: Scope) -> tuple[str, list[Any]]:
    """SQL that a card row in scope meets. Raises InputError naming a word that no card may use."""
    parts, values = ["1"], list[Any]()
    for column, value in scope.columns().items():
        if value is None:
            continue
        if value not in index.words[column]:
            allowed = ", ".join(word for word in index.words[column] if word != "any")
            raise InputError(f"wiki query: {column}: {value!r} is not one of {allowed}")
        parts.append(f"cards.{column} & ?")
        values.append(mask([value], index.words[column]))
    if scope.kind is not None:
        parts.append("cards.kind = ?")
        values.append(scope.kind)
    if scope.symptom is not None:
        wanted = " AND ".join(quoted(word) for word in words_of(scope.symptom)) or '""'
        parts.append("cards.rowid IN (SELECT rowid FROM texts WHERE texts MATCH ?)")
        values.append(f"symptoms : ({wanted})")
    return " AND ".join(parts), values


def words_of(text: str) -> list[str]:
    """Words of a question that carry meaning, each once."""
    found = dict.fromkeys(WORD.findall(text.lower()))
    return [word for word in found if word not in STOPWORDS]


def quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def known(index: Index, word: str) -> bool:
    return index.db.execute("SELECT 1 FROM texts WHERE texts MATCH ? LIMIT 1", (quoted(word),)).fetchone() is not None


def corrected(index: Index, word: str) -> str | None:
    """The most alike word that some card has, None when none is alike enough."""
    if len(word) < 4:
        return None
    grams = " OR ".join(quoted(word[i : i + 3]) for i in range(len(word) - 2))
    rows = index.db.execute(
        "SELECT word FROM trigrams WHERE trigrams MATCH ? ORDER BY rank LIMIT ?", (grams, NEIGHBOURS)
    )
    near = [row[0] for row in rows]
    alike = difflib.get_close_matches(word, near, n=5, cutoff=LEAST_LIKENESS)
    return next((found for found in alike if known(index, found)), None)


def understood(index: Index, text: str) -> tuple[list[str], dict[str, str], list[str]]:
    """(words to look for, corrections made, words that no card has)."""
    found, corrections, missing = list[str](), dict[str, str](), list[str]()
    for word in words_of(text):
        if known(index, word):
            found.append(word)
        elif (better := corrected(index, word)) is not None:
            corrections[word] = better
            found.append(better)
        else:
            missing.append(word)
    return found, corrections, missing


def ranked(
    index: Index, words: list[str], where: str, values: list[Any], limit: int
) -> list[tuple[str, float, str, str]]:
    """(facts, score, path, source) of the best cards in scope; higher scores are better."""
    weights = ", ".join(map(str, WEIGHTS))
    rows = index.db.execute(
        f"SELECT cards.facts, -bm25(texts, {weights}) AS score, cards.path, cards.source FROM texts "
        f"JOIN cards ON cards.rowid = texts.rowid WHERE texts MATCH ? AND {where} ORDER BY score DESC, cards.id LIMIT ?",
        (" OR ".join(map(quoted, words)), *values, limit),
    )
    return rows.fetchall()


def listed(index: Index, where: str, values: list[Any], limit: int) -> list[tuple[str, float, str, str]]:
    """Cards in scope without words to rank by, in the order of their ids."""
    rows = index.db.execute(
        f"SELECT cards.facts, 0.0, cards.path, cards.source FROM cards WHERE {where} ORDER BY cards.id LIMIT ?",
        (*values, limit),
    )
    return rows.fetchall()


def search(index: Index, text: str, scope: Scope, limit: int = 10) -> dict[str, Any]:
    """The answer to a question: status, note, corrections and cards, the best first."""
    start = time.perf_counter()
    where, values = condition(index, scope)
    words, corrections, missing = understood(index, text)
    rows = listed(index, where, values, limit) if not words_of(text) else []
    if words:
        rows = ranked(index, words, where, values, limit)
    attribution = {source.name: source.attribution for source in index.sources}
    found = [entry(json.loads(facts), score, path, source, attribution) for facts, score, path, source in rows]
    status, note = label(index, words, bool(rows), missing)
    return {
        "query": text,
        "scope": {key: value for key, value in vars(scope).items() if value is not None},
        "status": status,
        "note": note,
        "corrections": corrections,
        "not_in_any_card": missing,
        "cards": found,
        "elapsed_ms": round((time.perf_counter() - start) * 1e3, 3),
    }


def label(index: Index, words: list[str], any_row: bool, missing: list[str]) -> tuple[str, str]:
    """(status, sentence): matched, nothing_in_scope or nothing_matched."""
    if any_row:
        return "matched", f"no card has {', '.join(missing)}" if missing else "every word is known"
    if words:
        query = " OR ".join(map(quoted, words))
        count = index.db.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (query,)).fetchone()[0]
        return "nothing_in_scope", f"{count} cards have words of the question, none of them is in the asked scope"
    if missing:
        return "nothing_matched", f"no card has {', '.join(missing)} or a word like it"
    return "nothing_in_scope", "no card is in the asked scope"


def entry(facts: Mapping[str, Any], score: float, path: str, source: str, said: Mapping[str, str]) -> dict[str, Any]:
    keys = ("id", "kind", "title", "summary", "bounds", "applies_to")
    return {
        **{key: facts[key] for key in keys},
        "score": round(score, 4),
        "path": path,
        "source": source,
        "attribution": said.get(source, source),
    }
