"""A full-text index over all sources: SQLite FTS5, kept in the user's cache and brought up to date before each use.

A file is read again when its size or time of change differs. Every file is looked at again after CHECK_EVERY_S seconds at
the earliest, unless a folder has changed: a look at 10,000 files takes longer than a query. Scopes are bit masks, so that
a query filters before it ranks. Words are kept with their trigrams, which is how a misspelt one finds its neighbours.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from kernelwright import artifacts
from kernelwright.errors import InputError
from kernelwright.knowledge.wiki import cards
from kernelwright.knowledge.wiki.cards import ANY, FOLDERS, SCOPES, Card
from kernelwright.knowledge.wiki.sources import Source

FORMAT = 4  # raise it when the tables change
CHECK_EVERY_S = 2.0
WORD = re.compile(r"[a-z0-9]+")
TABLES = f"""
CREATE TABLE cards (rowid INTEGER PRIMARY KEY, id TEXT NOT NULL, path TEXT UNIQUE NOT NULL, source TEXT NOT NULL,
  kind TEXT NOT NULL, stamp TEXT NOT NULL, facts TEXT NOT NULL, bounds INTEGER NOT NULL,
  {", ".join(f"{scope} INTEGER NOT NULL" for scope in SCOPES)});
CREATE INDEX cards_id ON cards (id);
CREATE VIRTUAL TABLE texts USING fts5(title, summary, symptoms, tags, body, tokenize='porter unicode61');
CREATE TABLE words (word TEXT PRIMARY KEY);
CREATE TABLE state (seen TEXT NOT NULL, folders TEXT NOT NULL, at REAL NOT NULL);
CREATE VIRTUAL TABLE trigrams USING fts5(word, tokenize='trigram', detail='none');
"""
ALL_BITS = (1 << 40) - 1


def vocabularies() -> dict[str, list[str]]:
    """The closed words of each scope and of the bounds, in the schema's order; a word's place is its bit."""
    schema = artifacts.load_yaml(artifacts.paths.schemas_dir() / "card.schema.yaml")["properties"]
    found = {scope: schema["applies_to"]["properties"][scope]["items"]["enum"] for scope in SCOPES}
    return {**found, "bounds": schema["bounds"]["items"]["enum"]}


def mask(values: Iterable[str], words: Sequence[str]) -> int:
    """Bits of `values`; every bit for `any`."""
    given = list(values)
    return ALL_BITS if ANY in given else sum(1 << words.index(value) for value in given)


class Index:
    """An open index. `refresh` brings it up to date; the query module reads it."""

    def __init__(self, file: Path | str, sources: Sequence[Source]) -> None:
        self.sources = list(sources)
        self.words = vocabularies()
        self.db = sqlite3.connect(file, timeout=60, isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")  # a lost index is made again
        if self.db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
            self._create()

    def _create(self) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        if self.db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:  # nobody else did it meanwhile
            for statement in TABLES.split(";"):
                self.db.execute(statement)
            self.db.execute(f"PRAGMA user_version = {FORMAT}")
        self.db.execute("COMMIT")

    def refresh(self) -> int:
        """Read what changed, forget what is gone; returns the number of files read. Raises InputError for a bad card."""
        folders = folder_stamps(self.sources)
        last = self.db.execute("SELECT seen, folders, at FROM state").fetchone()
        if last is not None and last[1] == folders and 0 <= time.time() - last[2] < CHECK_EVERY_S:
            return 0
        listings = [(source, list(stamps(source))) for source in self.sources]
        text = "\n".join(f"{path} {stamp}" for _, found in listings for path, stamp in found)
        seen = hashlib.sha256(text.encode()).hexdigest()
        if last is not None and last[0] == seen:
            self.db.execute("UPDATE state SET folders = ?, at = ?", (folders, time.time()))
            return 0
        wanted = {path: (stamp, source) for source, found in listings for path, stamp in found}
        known = dict(self.db.execute("SELECT path, stamp FROM cards"))
        changed = [path for path, (stamp, _) in wanted.items() if known.get(path) != stamp]
        gone = [path for path in known if path not in wanted]
        parsed = [(cards.read(Path(path), wanted[path][1].name), wanted[path][0]) for path in changed]
        self.db.execute("BEGIN IMMEDIATE")
        try:
            self._forget([*gone, *changed])
            for card, stamp in parsed:
                self._add(card, stamp)
            self._check_unique()
            self.db.execute("DELETE FROM state")
            self.db.execute("INSERT INTO state VALUES (?, ?, ?)", (seen, folders, time.time()))
            self.db.execute("COMMIT")
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        return len(changed)

    def _forget(self, paths: Iterable[str]) -> None:
        for path in paths:
            row = self.db.execute("SELECT rowid FROM cards WHERE path = ?", (path,)).fetchone()
            if row:
                self.db.execute("DELETE FROM texts WHERE rowid = ?", row)
                self.db.execute("DELETE FROM cards WHERE rowid = ?", row)

    def _add(self, card: Card, stamp: str) -> None:
        facts = card.facts
        masks = [mask(card.scope(scope), self.words[scope]) for scope in SCOPES]
        bounds = mask(facts["bounds"], self.words["bounds"])
        row = [card.id, str(card.path), card.source, card.kind, stamp, json.dumps(facts), bounds, *masks]
        columns = "id, path, source, kind, stamp, facts, bounds, " + ", ".join(SCOPES)
        marks = ", ".join("?" * len(row))
        rowid = self.db.execute(f"INSERT INTO cards ({columns}) VALUES ({marks})", row).lastrowid
        texts = [
            facts["title"],
            facts["summary"],
            " ; ".join(facts["symptoms"]),
            " ".join([*facts["tags"], *card.id.split("-"), *facts["bounds"]]),
            card.body,
        ]
        self.db.execute("INSERT INTO texts (rowid, title, summary, symptoms, tags, body) VALUES (?,?,?,?,?,?)",
                        [rowid, *texts])  # fmt: skip
        for word in {word for text in texts for word in WORD.findall(text.lower()) if len(word) > 3}:
            if self.db.execute("INSERT OR IGNORE INTO words VALUES (?)", (word,)).rowcount:
                self.db.execute("INSERT INTO trigrams VALUES (?)", (word,))

    def _check_unique(self) -> None:
        twice = self.db.execute("SELECT id FROM cards GROUP BY id HAVING count(*) > 1 LIMIT 1").fetchone()
        if twice:
            files = [row[0] for row in self.db.execute("SELECT path FROM cards WHERE id = ?", twice)]
            raise InputError(f"{files[1]}: id: {twice[0]!r} is taken by {files[0]}")

    def close(self) -> None:
        self.db.close()


def stamps(source: Source) -> Iterable[tuple[str, str]]:
    """(path, size and time of change in ns) of a source's card files."""
    for folder in FOLDERS.values():
        directory = source.directory / folder
        if not directory.is_dir():
            continue
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(".md") and entry.name != "README.md":
                    stat = entry.stat()
                    yield entry.path, f"{stat.st_size}-{stat.st_mtime_ns}"


def folder_stamps(sources: Sequence[Source]) -> str:
    """Times of change of the folders: another one means that a card came, went or was replaced."""
    found = []
    for source in sources:
        for folder in FOLDERS.values():
            path = source.directory / folder
            found.append(f"{path} {path.stat().st_mtime_ns if path.is_dir() else None}")
    return "\n".join(found)


def file_of(sources: Sequence[Source]) -> Path:
    """Where the index of these sources is kept."""
    from kernelwright.knowledge.calibrate import cache_dir

    key = json.dumps([FORMAT, *[[source.name, str(source.directory)] for source in sources]])
    return cache_dir() / f"wiki-{hashlib.sha256(key.encode()).hexdigest()[:16]}.sqlite"


def opened(sources: Sequence[Source]) -> Index:
    """The index of these sources, up to date. Raises InputError for a bad card or a folder that is no cache."""
    file = file_of(sources)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        index = Index(file, sources)
        index.refresh()
    except sqlite3.DatabaseError as error:
        raise InputError(f"{file}: not a usable index ({error}); delete it") from None
    return index
