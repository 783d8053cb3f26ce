"""`kernelwright replay`: the sessions of a version, readably: what the model said, its tool calls, what they gave."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kernelwright import agents, artifacts, cli
from kernelwright.errors import InputError

LONGEST = 2000  # characters of one event; --full prints all


def records(version: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Record files of a version's sessions with their content, in the order they were started. Raises InputError."""
    found = [(path, artifacts.read(path, "session")) for path in (version / "sessions").glob("*-*.json")]
    if not found:
        raise InputError(f"{version}: no sessions there; a version's folder is expected, like results/.../b00/v001")
    return sorted(found, key=lambda item: (item[1]["started_at"], item[1]["step"] != "plan", item[1]["number"]))


def headline(record: dict[str, Any]) -> str:
    """Who, how long, what it cost and how it ended."""
    tokens = record["tokens"]
    spent = "tokens unknown"
    if tokens is not None:
        spent = f"{tokens['input_tokens']:,} tokens in, {tokens['output_tokens']:,} out"
    spent += "" if record["complete"] else " at least"
    cost = "" if record["cost_usd"] is None else f", {record['cost_usd']:.4f} USD"
    error = record["error"]
    end = record["state"] if error is None else f"{error['kind']}: {error['text']}"
    who = " ".join(filter(None, (record["agent"], record.get("cli_version"), record.get("model"))))
    return f"{record['step']} {record['number']}: {who}; {record['turns']} turns, {record['wall_s']:.0f} s, {spent}{cost}; {end}"


def told(path: Path, agent: str) -> Iterator[str]:
    """Texts of the events of one session. A line that a kill cut is left out."""
    module = agents.get(agent)
    reader = module.adapter.reader()
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else []:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        text = event.get("text") if event.get("event") in ("prompt", "output") else None
        text = f"prompt:\n{text}" if event.get("event") == "prompt" else text
        if "event" not in event:
            text = reader.describe(event)
        if text:
            yield text


def plain(text: str, longest: int | None) -> str:
    """Without control characters: what an agent's tools print must not steer the reader's terminal."""
    clean = re.sub(r"[^\n\t\x20-\x7e\u00a0-\U0010ffff]", "?", text)
    cut = longest is not None and len(clean) > longest
    return clean[:longest] + f"\n[{len(clean) - (longest or 0)} more characters]" if cut else clean


@cli.guarded
def main(argv: Sequence[str] | None = None) -> int:
    flags = argparse.ArgumentParser(prog="kernelwright replay", description=__doc__)
    flags.add_argument(
        "version", type=Path, help="folder of a version, like results/rms_norm/cpu/cpp-leaderboard/b00/v001"
    )
    flags.add_argument("--full", action="store_true", help=f"whole events, not their first {LONGEST} characters")
    arguments = flags.parse_args(argv)
    for path, record in records(arguments.version):
        print(f"== {plain(headline(record), None)}")
        for text in told(path.with_suffix(".jsonl"), record["agent"]):
            print(plain(text, None if arguments.full else LONGEST))
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
