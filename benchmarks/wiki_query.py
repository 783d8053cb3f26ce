"""The wiki's retrieval: recall@5 over wiki_questions.yaml, and the latency of queries over 10,000 synthetic cards.

Prints one line per miss and the figures. Latency is that of a warm query in this process: index open, looked at for
changes (every file after two seconds), ranked, decoded. `--cards` and `--queries` change the size.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from kernelwright import artifacts
from kernelwright.knowledge.wiki import cards, index, query, sources

QUESTIONS = Path(__file__).with_name("wiki_questions.yaml")
WITHIN = 5


def recall(opened: index.Index) -> tuple[int, int, list[str]]:
    """(questions answered within the first five, questions, lines on the misses)."""
    questions = artifacts.load_yaml(QUESTIONS)
    misses = []
    for item in questions:
        scope = query.scope_of(item["platform"], framework=item["framework"])
        found = [card["id"] for card in query.search(opened, item["q"], scope, WITHIN)["cards"]]
        if not set(found) & set(item["cards"]):
            misses.append(
                f"missed {item['q']!r}: wanted {', '.join(item['cards'])}; got {', '.join(found) or 'nothing'}"
            )
    return len(questions) - len(misses), len(questions), misses


def synthetic(real: list[cards.Card], count: int, wiki: Path, seed: int = 0) -> None:
    """Write cards whose words are drawn from the real ones, with their scopes and length."""
    draw = random.Random(seed)
    words = [word for card in real for word in card.body.split() if word.isalpha()]
    for number in range(count):
        base = draw.choice([card for card in real if card.kind == "technique"])
        text = " ".join(draw.choices(words, k=12))
        facts: dict[str, Any] = {**base.facts, "id": f"synthetic-{number}", "title": text[:60], "summary": (text * 3)[:200],
                                 "symptoms": [" ".join(draw.choices(words, k=6))], "tags": [], "related": []}  # fmt: skip
        body = "\n\n".join(
            f"## {name}\n\n{' '.join(draw.choices(words, k=40))}" for name in cards.SECTIONS["technique"]
        )
        path = wiki / "techniques" / f"synthetic-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(cards.text_of(facts, body))


def latencies(source: sources.Source, file: Path, count: int) -> tuple[float, list[float]]:
    """(seconds to build the index, milliseconds of each warm query) over the questions."""
    questions = artifacts.load_yaml(QUESTIONS)
    start = time.perf_counter()
    opened = index.Index(file, [source])
    opened.refresh()
    built = time.perf_counter() - start
    times = []
    for number in range(count):
        item = questions[number % len(questions)]
        start = time.perf_counter()
        opened.refresh()
        query.search(opened, item["q"], query.scope_of(item["platform"], framework=item["framework"]), WITHIN)
        times.append((time.perf_counter() - start) * 1e3)
    opened.close()
    return built, times


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cards", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    arguments = parser.parse_args(argv)
    source = sources.builtin()
    with tempfile.TemporaryDirectory(prefix="kernelwright-wiki-") as folder:
        real = index.Index(Path(folder) / "real.sqlite", [source])
        real.refresh()
        hits, total, misses = recall(real)
        print("\n".join(misses))
        print(f"recall@{WITHIN}: {hits / total:.3f} ({hits} of {total} questions, {len(source.files())} cards)")
        wiki = Path(folder) / "wiki"
        synthetic([cards.read(path) for path in source.files()], arguments.cards, wiki)
        built, times = latencies(
            sources.Source("synthetic", "made up", wiki), Path(folder) / "many.sqlite", arguments.queries
        )
        cut = statistics.quantiles(times, n=20)[-1]
        print(f"{arguments.cards} cards: index built in {built:.1f} s; warm query median {statistics.median(times):.1f} ms, "
              f"95 % below {cut:.1f} ms, worst {max(times):.1f} ms")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
