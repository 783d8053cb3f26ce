"""One file per session, written when it starts, while it runs and when it ends: the live view, and what was spent.

    <bucket>/v<NNN>/sessions/<step>-<n>.json     who, state, tokens, last tool call
    <bucket>/v<NNN>/sessions/<step>-<n>.jsonl    its events as they came

A supervisor that was killed leaves a record in state `running`; the next one closes it with what the CLI's own session
file says. So tokens are neither lost nor counted twice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernelwright import artifacts, paths
from kernelwright.agents.sessions.record import Tokens

RUNNING, ENDED, LOST = "running", "ended", "lost"
STREAM, SESSION_FILE, NOT_KNOWN = "stream", "session_file", "unknown"
WRITE_EVERY_S = 1.0


@dataclass(frozen=True)
class Entry:
    """Body of one record; tokens None is unknown, `complete` False: more was spent than is known."""

    agent: str
    step: str
    number: int
    state: str = RUNNING
    session_id: str | None = None
    resumes: int | None = None  # number of the session it went on with
    model: str | None = None
    cli_version: str | None = None
    tokens: Tokens | None = None
    complete: bool = True
    source: str = NOT_KNOWN
    cost_usd: float | None = None
    turns: int = 0
    wall_s: float = 0.0
    last_tool: str | None = None
    error: dict[str, str] | None = None
    isolation: dict[str, Any] = field(default_factory=lambda: {"level": "none", "missing": []})
    prompt_sha256: str | None = None
    started_at: str = ""
    pid: int | None = None
    before: Tokens | None = None  # spent by the same CLI session before this run, for CLIs that count on

    def to_json(self) -> dict[str, Any]:
        body = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("tokens", "before"):
            body[name] = None if body[name] is None else body[name].to_json()
        return body

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Entry:
        found = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        for name in ("tokens", "before"):
            found[name] = None if found.get(name) is None else Tokens.from_json(found[name])
        return cls(**found)


def folder(campaign: paths.Campaign, bucket: str, version: int) -> Path:
    return campaign.version_dir(bucket, version) / "sessions"


class Ledger:
    """The records of one step of one version."""

    def __init__(self, where: Path, step: str, specs_sha256: str) -> None:
        self.where, self.step, self.specs = where, step, specs_sha256
        self.written = 0.0

    def path(self, number: int) -> Path:
        return self.where / f"{self.step}-{number}.json"

    def log(self, number: int) -> Path:
        return self.where / f"{self.step}-{number}.jsonl"

    def entries(self) -> list[Entry]:
        """Records of this step that were made for the present specs, in order."""
        found = []
        for path in sorted(self.where.glob(f"{self.step}-*.json")):
            record = artifacts.read(path, "session")
            if record["provenance"].get("parents", {}).get("specs.json") == self.specs:
                found.append(Entry.from_json(record))
        return sorted(found, key=lambda entry: entry.number)

    def next_number(self) -> int:
        """A number that no file has, also none of older specs."""
        taken = [int(path.stem.rpartition("-")[2]) for path in self.where.glob(f"{self.step}-*.json")]
        return max(taken, default=0) + 1

    def write(self, entry: Entry, always: bool = True) -> None:
        """Write a record whole; without `always` at most once a second, for the live view."""
        now = time.monotonic()
        if not always and now - self.written < WRITE_EVERY_S:
            return
        self.written = now
        parents = {"specs.json": self.specs}
        artifacts.write(self.path(entry.number), "session", entry.to_json(), agent=entry.agent, parents=parents)

    def start(self, entry: Entry) -> Entry:
        entry = replace(entry, started_at=datetime.now(UTC).isoformat(timespec="seconds"))
        self.write(entry)
        return entry


def total(entries: list[Entry]) -> tuple[Tokens | None, float | None]:
    """(tokens, cost in USD) of sessions together; None when one of them is unknown."""
    tokens: Tokens | None = Tokens()
    cost: float | None = 0.0
    for entry in entries:
        tokens = None if tokens is None or entry.tokens is None else tokens + entry.tokens
        cost = None if cost is None or entry.cost_usd is None else cost + entry.cost_usd
    return tokens, cost


def usage(entries: list[Entry], wall_s: float, trials: int) -> dict[str, Any]:
    """`usage` of plan.json and usage.json: sums over the sessions of a step."""
    tokens, cost = total(entries)
    counts = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens"))
    if tokens is not None:
        counts |= {key: value for key, value in tokens.to_json().items() if key in counts}  # type: ignore[misc]
    turns = sum(entry.turns for entry in entries)
    complete = all(entry.complete and entry.tokens is not None for entry in entries)
    return {**counts, "cost_usd": cost, "turns": turns, "wall_s": wall_s, "trials": trials, "sessions": len(entries),
            "complete": complete}  # fmt: skip


def parents(campaign: paths.Campaign, bucket: str, version: int, step: str) -> dict[str, str]:
    """Records of a step's sessions -> sha256, for provenance: each has the digest of its prompt and the CLI's version."""
    found = sorted(folder(campaign, bucket, version).glob(f"{step}-*.json"))
    return {f"sessions/{path.name}": artifacts.sha256_file(path) for path in found}


def open_tokens(campaign: paths.Campaign, but: Path | None = None) -> int:
    """Known tokens of sessions whose version has no memory.json yet; those with one are counted there.

    `but` is a record to leave out, the caller's own.
    """
    specs = artifacts.sha256_file(campaign.specs) if campaign.specs.exists() else None
    spent = 0
    for path in sorted(campaign.root.glob("b[0-9]*/v[0-9]*/sessions/*-*.json")):
        if path == but or (path.parent.parent / "memory.json").exists():
            continue
        record = artifacts.read_json(path)
        if record.get("provenance", {}).get("parents", {}).get("specs.json") == specs and record.get("tokens"):
            spent += Tokens.from_json(record["tokens"]).total
    return spent
