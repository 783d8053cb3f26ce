"""`kernelwright wiki`: find cards, show them, check them, measure them, and harvest those of a campaign.

wiki query "words" [--platform h200] [--framework triton] [--family row_norm] [--bound memory] [--symptom words] [--json]
wiki list | show ID                 all cards, or one with its evidence; --results DIR adds how plans used them
wiki gate [FILE ...] [--admit]      what keeps a card out; without files every admitted card is checked
wiki experiments [--platform cpu]   measure the pairs of kernels again; a card whose effect is gone is flagged
wiki pair ID --output DIR           write the two kernels of an experiment
wiki harvest --results DIR          candidate cards of finished campaigns
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli, config, paths
from kernelwright.errors import InputError
from kernelwright.knowledge.wiki import cards, effects, experiments, gate, harvest, index, query, show, sources

SETTINGS = {"seeds": 1, "samples": 15}  # of an experiment: a pair takes some seconds


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="kernelwright wiki", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--config", type=Path, metavar="FILE", help="settings; `knowledge.wikis` lists private wikis")
    verbs = made.add_subparsers(dest="verb", required=True, metavar="VERB")
    ask = verbs.add_parser("query", help="find cards")
    ask.add_argument("text", help="words; an empty text lists what is in scope")
    for flag, text in (("platform", "a file of config/platforms"), ("framework", "what the kernel is written in"),
                       ("family", "of operators"), ("bound", "a bottleneck"), ("kind", "of card"),
                       ("symptom", "words that the list of symptoms must have")):  # fmt: skip
        ask.add_argument(f"--{flag}", help=text)
    ask.add_argument("--limit", type=int, default=5)
    ask.add_argument("--json", action="store_true")
    lister = verbs.add_parser("list", help="all cards with their effects")
    lister.add_argument("--results", type=Path, help="count their use in these campaigns")
    lister.add_argument("--json", action="store_true")
    page = verbs.add_parser("show", help="one card")
    page.add_argument("card")
    page.add_argument("--results", type=Path)
    check = verbs.add_parser("gate", help="check cards, and admit them")
    check.add_argument("files", nargs="*", type=Path)
    check.add_argument("--results", type=Path, help="where the artifacts that a campaign's card names must be")
    check.add_argument("--admit", action="store_true", help="copy the cards that pass")
    check.add_argument("--into", type=Path, help="a wiki; default the first private one, else the project's")
    measure = verbs.add_parser("experiments", help="measure again")
    measure.add_argument("--platform", default="auto")
    measure.add_argument("--card", nargs="+")
    measure.add_argument("--missing", action="store_true", help="only those that are unmeasured, stale or broken")
    measure.add_argument("--seeds", type=int, default=SETTINGS["seeds"])
    measure.add_argument("--samples", type=int, default=SETTINGS["samples"])
    pair = verbs.add_parser("pair", help="write the kernels of an experiment")
    pair.add_argument("card")
    pair.add_argument("--output", type=Path, required=True)
    reap = verbs.add_parser("harvest", help="candidate cards of campaigns")
    reap.add_argument("--results", type=Path, required=True)
    reap.add_argument("--operator", nargs="+", default=[])
    return made


def all_cards(found: Sequence[sources.Source]) -> list[cards.Card]:
    """Every card of every source, checked."""
    return [cards.read(path, source.name) for source in found for path in source.files()]


def find(found: Sequence[sources.Source], name: str) -> tuple[cards.Card, sources.Source]:
    """A card by its id. Raises InputError with the one most like it."""
    import difflib

    files = {path.stem: (path, source) for source in found for path in source.files()}
    if name not in files:
        close = difflib.get_close_matches(name, files, n=1)
        raise InputError(f"wiki: {name!r} is no card" + (f"; did you mean {close[0]!r}?" if close else ""))
    path, source = files[name]
    return cards.read(path, source.name), source


def run_query(arguments: argparse.Namespace, found: Sequence[sources.Source]) -> int:
    filters = {name: getattr(arguments, name) for name in ("framework", "family", "bound", "kind", "symptom")}
    opened = index.opened(found)
    answer = query.search(opened, arguments.text, query.scope_of(arguments.platform, **filters), arguments.limit)
    shown = {
        card["id"]: effects.of_card(card["id"], effects.directory_of(card["source"], found)) for card in answer["cards"]
    }
    if arguments.json:
        answer["cards"] = [{**card, "evidence": shown[card["id"]]} for card in answer["cards"]]
        print(json.dumps(answer, indent=1))
    else:
        print(show.answer(answer, {name: effects.phrase(row) for name, row in shown.items()}))
    return 0 if answer["cards"] else 1


def run_list(arguments: argparse.Namespace, found: Sequence[sources.Source]) -> int:
    used = effects.usage(arguments.results) if arguments.results else {}
    rows = []
    for card in all_cards(found):
        shown = effects.of_card(card.id, effects.directory_of(card.source, found))
        rows.append((card, shown, used.get(card.id)))
    if arguments.json:
        print(json.dumps([
            {"id": card.id, "kind": card.kind, "title": card.facts["title"], "source": card.source, "evidence": shown,
             "use": row} for card, shown, row in rows
        ], indent=1))  # fmt: skip
        return 0
    lines = [
        (card.id, card.kind, effects.phrase(shown) + (f"; {show.use(row)}" if arguments.results else ""))
        for card, shown, row in rows
    ]
    print(show.table(lines))
    states = [shown["state"] for _, shown, _ in rows]
    measured = sum(state in ("holds", "gone", "broken", "stale") for state in states)
    print(f"{len(rows)} cards, {measured} measured, {states.count('holds')} with an effect that holds, "
          f"{states.count('unmeasured')} with an experiment that is not measured yet")  # fmt: skip
    return 0


def run_show(arguments: argparse.Namespace, found: Sequence[sources.Source]) -> int:
    card, source = find(found, arguments.card)
    shown = effects.of_card(card.id, source.directory)
    used = effects.usage(arguments.results).get(card.id) if arguments.results else None
    print(show.page(card, shown, effects.phrase(shown), used))
    return 0


def run_gate(arguments: argparse.Namespace, found: Sequence[sources.Source], settings: dict[str, Any]) -> int:
    admitted = all_cards(found)
    files = arguments.files or [card.path for card in admitted]
    wikis = settings["knowledge"]["wikis"]
    into = arguments.into or (Path(wikis[0]).expanduser() if wikis else paths.wiki_dir())
    kept_out = 0
    for path in files:
        card, findings = gate.check_file(path, admitted, arguments.results)
        for finding in findings:
            print(f"{path}: {finding.check}: {finding.sentence}")
        kept_out += bool(findings)
        if card is not None and not findings and arguments.files:
            target = gate.admit(card, into) if arguments.admit else None
            admitted = [*admitted, card]
            print(f"{path}: passes" + (f"; admitted as {target}" if target else ""))
    print(f"{len(files)} cards checked, {kept_out} kept out")
    return 1 if kept_out else 0


def run_experiments(arguments: argparse.Namespace, found: Sequence[sources.Source]) -> int:
    from kernelwright.knowledge import platforms

    platform = platforms.load(arguments.platform)
    chosen = [pair for source in found for pair in experiments.everyone(source.directory)]
    known = {pair.card for pair in chosen}
    for name in arguments.card or []:
        if name not in known:
            raise InputError(
                f"wiki experiments: --card {name!r} has no experiment; allowed: {', '.join(sorted(known))}"
            )
    flagged = 0
    for pair in chosen:
        if arguments.card and pair.card not in arguments.card:
            continue
        if platform.vendor not in pair.facts["vendors"]:
            if arguments.card:
                print(f"{pair.card}: left out, it is for {', '.join(pair.facts['vendors'])}")
            continue
        if arguments.missing and experiments.state(pair, platform.name)[0] in ("holds", "gone"):
            continue
        result = experiments.measure(pair, platform.name, arguments.seeds, arguments.samples)
        effect = result["effect"]
        number = f"{effect['value']:.2f}x ({effect['low']:.2f} to {effect['high']:.2f})" if effect else "no time"
        said = "" if result["status"] == "holds" else f"  {effects.FLAGS[result['status']]}: {result['sentence']}"
        print(f"{pair.card:<36} {number}{said}", flush=True)
        flagged += result["status"] != "holds"
    return 1 if flagged else 0


def run_pair(arguments: argparse.Namespace, found: Sequence[sources.Source]) -> int:
    _, source = find(found, arguments.card)
    pair = experiments.load(source.directory, arguments.card)
    if pair is None:
        raise InputError(f"wiki pair: {arguments.card!r} has no experiment")
    for which, text in experiments.pair(pair).items():
        artifacts.write_text(arguments.output / f"{which}.py", text)
    print(f"{arguments.output}/before.py and after.py, kernels of operator {pair.operator_dir}")
    return 0


def run_harvest(arguments: argparse.Namespace) -> int:
    total = 0
    for campaign in paths.Campaign.below(arguments.results, arguments.operator):
        if campaign.specs.is_file():
            files = harvest.harvest(campaign)
            total += len(files)
            print(f"{campaign.root}: {len(files)} candidate cards in {campaign.root / harvest.FOLDER}")
    return 0 if total else 1


@cli.guarded
def main(argv: Sequence[str] | None = None) -> int:
    """0 when something was found or all passed, 1 when not, 2 for bad input."""
    arguments = parser().parse_args(argv)
    if arguments.verb == "harvest":
        return run_harvest(arguments)
    settings = config.load(arguments.config)
    found = sources.everything(settings)
    if arguments.verb == "gate":
        return run_gate(arguments, found, settings)
    verbs = {"query": run_query, "list": run_list, "show": run_show, "experiments": run_experiments, "pair": run_pair}
    return verbs[arguments.verb](arguments, found)


if __name__ == "__main__":
    sys.exit(main())
