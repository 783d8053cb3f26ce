"""Sessions of one step: a fresh one with retries, then a bounded number of resumed ones until what it owes is there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelwright import stop
from kernelwright.agents.base import EpisodeContext
from kernelwright.agents.sessions import isolation, ledger, runner, secrets
from kernelwright.agents.sessions.adapter import Adapter, Launch, Settings
from kernelwright.agents.sessions.ledger import Entry, Ledger
from kernelwright.agents.sessions.record import BUDGETS, MISSING, PASSING, WALL, Failure, Tokens
from kernelwright.errors import InputError, KernelwrightError

LONGEST_PROMPT = 120_000  # bytes; Linux takes no longer argument
RECOVER_EVERY_S = 1.0
COUNT_EVERY_S = 3.0
RUN_MARK = "KERNELWRIGHT_EVENTS"  # by which a later run finds processes of one that was killed


class Passing(KernelwrightError):
    """A failure that a later attempt may not meet."""


@dataclass
class Talk:
    """The sessions of one step of one version with one CLI."""

    ctx: EpisodeContext
    adapter: Adapter
    settings: Settings
    books: Ledger
    folder: Path  # the agent's working directory
    private: Path  # the supervisor's folder, readable for the agent
    tool_environment: Mapping[str, str] = field(default_factory=dict)
    mcp: list[str] | None = None
    busy: Callable[[], bool] = lambda: False
    entries: list[Entry] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    sleep: Callable[[float], None] = time.sleep

    @property
    def policy(self) -> Mapping[str, Any]:
        return self.ctx.config["agents"]["session"]

    def converse(self, prompt: str, fault: Callable[[], str | None], finish: Callable[[str], str]) -> Failure | None:
        """Talk until `fault()` finds nothing wrong with what the session left; returns why that was not reached."""
        self.entries = [self._close(entry) for entry in self.books.entries()]
        failure = self._with_retries(prompt)
        for _ in range(self.policy["resumes"]):
            wrong = fault()
            if wrong is None or failure is not None:
                break
            last = self.entries[-1]
            if self.adapter.RESUMES and last.session_id:
                failure = self._run(finish(wrong), last)
            else:
                failure = self._run(f"{prompt}\n\n{finish(wrong)}", None)
        return failure

    def _with_retries(self, prompt: str) -> Failure | None:
        """A fresh session; again, with growing pauses, while it fails for a reason that passes."""
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

        found: list[Failure] = []
        retrying = Retrying(
            stop=stop_after_attempt(1 + self.policy["retries"]),
            wait=wait_random_exponential(multiplier=self.policy["retry_wait_s"], max=60),
            retry=retry_if_exception_type(Passing),
            sleep=self.sleep,
            reraise=True,
        )
        with suppress(Passing):
            retrying(self._attempt, prompt, found)
        return found[-1] if found else None

    def _attempt(self, prompt: str, found: list[Failure]) -> None:
        failure = self._run(prompt, None)
        if failure is None:
            found.clear()
            return
        found.append(failure)
        if failure.kind in PASSING:
            raise Passing(failure.text)

    def _close(self, entry: Entry) -> Entry:
        """A record that a killed supervisor left running, with what the CLI's session file knows."""
        if entry.state != ledger.RUNNING:
            return entry
        known = self.adapter.recovered(entry.session_id, self._environment(self._launch("", None)), self.folder)
        if known is not None:
            known = known - (entry.before or Tokens())
        tokens = max((one for one in (known, entry.tokens) if one is not None), key=lambda one: one.total, default=None)
        source = ledger.NOT_KNOWN if tokens is None else ledger.SESSION_FILE if tokens == known else ledger.STREAM
        error = {"kind": "killed", "text": "the supervisor was killed"}
        closed = replace(entry, state=ledger.LOST, tokens=tokens, source=source, complete=False, error=error, pid=None)
        self.books.write(closed)
        return closed

    def _launch(self, prompt: str, last: Entry | None) -> Launch:
        session = last.session_id if last is not None and last.session_id else str(uuid.uuid4())
        return Launch(prompt, session, self.settings, self.private, self.mcp, last is not None, self.policy["cost_usd"])

    def _environment(self, launch: Launch) -> dict[str, str]:
        found = {**self.adapter.environment(launch), **self.tool_environment}
        if RUN_MARK in os.environ:
            found[RUN_MARK] = os.environ[RUN_MARK]
        return {"PATH": os.defpath, **found}

    def _walls(self, environment: Mapping[str, str]) -> isolation.Walls:
        state = isolation.state_paths(self.adapter.STATE, environment)
        writable = [self.folder]
        return isolation.walls(
            self.policy["isolation"], self.adapter.PROGRAM, writable, state, self.private, environment
        )

    def _run(self, prompt: str, last: Entry | None) -> Failure | None:
        """One run of the CLI with its record; returns why it failed."""
        if len(prompt.encode()) > LONGEST_PROMPT:
            raise InputError(f"prompt: {len(prompt.encode())} bytes; at most {LONGEST_PROMPT} are allowed")
        left = self.policy["wall_s"] - (time.monotonic() - self.started)
        if left <= 0:
            return Failure(WALL, f"the step used up its {self.policy['wall_s']:.0f} s")
        launch = self._launch(prompt, last)
        environment = self._environment(launch)
        if shutil.which(self.adapter.PROGRAM, path=environment["PATH"]) is None:
            return Failure(MISSING, f"{self.adapter.PROGRAM} is not on PATH; {self.adapter.INSTALL}")
        return Run(self, launch, environment, self._walls(environment), last, left).go()


class Run:
    """One run of the CLI: its record is kept up to date while it goes on."""

    def __init__(
        self, talk: Talk, launch: Launch, environment: dict[str, str], walls: isolation.Walls, last: Entry | None,
        left_s: float,
    ) -> None:  # fmt: skip
        self.talk, self.launch, self.environment, self.walls, self.left_s = talk, launch, environment, walls, left_s
        self.reader = talk.adapter.reader(resumed=last is not None)
        before = self._recovered(last.session_id) if last is not None and last.session_id else None
        self.entry = talk.books.start(
            Entry(
                agent=talk.adapter.NAME, step=talk.books.step, number=talk.books.next_number(),
                session_id=launch.session_id if last is not None else None, before=before,
                resumes=None if last is None else last.number, isolation=walls.record, pid=os.getpid(),
                cli_version=talk.adapter.version(environment), prompt_sha256=hashlib.sha256(launch.prompt.encode()).hexdigest(),
            )
        )  # fmt: skip
        self.looked = self.counted = 0.0
        self.recovered: Tokens | None = None
        self.allowed: int | None = None
        self.hide = secrets.redactor(environment, os.environ)

    def go(self) -> Failure | None:
        policy = self.talk.policy
        limits = runner.Limits(
            self.left_s, policy["idle_s"], policy["turns"], policy["cost_usd"], self._allowed, self.talk.busy
        )
        start = time.monotonic()
        argv = self.talk.adapter.argv(self.launch)
        if self.walls.prefix:  # a link in the path of its folder need not be there behind the walls
            argv[0] = str(isolation.located(argv[0], self.environment["PATH"]))
            self.environment["TMPDIR"] = "/tmp"  # the user's own may not be there
        argv = [*self.walls.prefix, *argv]
        with self.talk.books.log(self.entry.number).open("w") as log:

            def keep(line: str) -> None:
                log.write(self.hide(line) + "\n")
                log.flush()

            keep(json.dumps({"event": "prompt", "text": self.launch.prompt}))
            ended = runner.run(
                argv, self.talk.folder, self.environment, self.reader, limits, keep,
                lambda: self._update(time.monotonic() - start), self._spent,
            )  # fmt: skip
            failure = runner.verdict_on(self.reader, ended)
            if failure is not None:
                failure = Failure(failure.kind, self.hide(failure.text))
            keep(json.dumps({"event": "end", "exit_code": ended.exit_code, "failure": failure and failure.__dict__,
                             "stderr": self.hide(ended.stderr)}))  # fmt: skip
        self._finish(failure, ended)
        return failure

    def _recovered(self, session_id: str | None) -> Tokens | None:
        return self.talk.adapter.recovered(session_id, self.environment, self.talk.folder)

    def _spent(self) -> Tokens | None:
        """Tokens of this run so far: by the stream, or by the session file where the stream tells none."""
        if self.talk.adapter.LIVE_TOKENS:
            return self.reader.tokens
        now = time.monotonic()
        if now - self.looked > RECOVER_EVERY_S:
            self.looked = now
            self.recovered = self._since(self._recovered(self.reader.session_id))
        return self.recovered

    def _since(self, tokens: Tokens | None) -> Tokens | None:
        """A sum over the whole CLI session, less what earlier runs of it spent."""
        return tokens - self.entry.before if tokens is not None and self.entry.before is not None else tokens

    def _allowed(self) -> int | None:
        """Tokens that this run may spend: what its own limit and the campaign's budget leave."""
        now = time.monotonic()
        if self.counted and now - self.counted < COUNT_EVERY_S:
            return self.allowed
        self.counted = now
        own, campaign = self.talk.policy["tokens"], self.talk.ctx.config["stop"]["token_budget"]
        limits = [] if own is None else [own - sum(one.tokens.total for one in self.talk.entries if one.tokens)]
        if campaign is not None:
            where = self.talk.ctx.campaign
            others = ledger.open_tokens(where, but=self.talk.books.path(self.entry.number))
            limits.append(campaign - stop.campaign_tokens(where) - others)
        self.allowed = min(limits) if limits else None
        return self.allowed

    def _update(self, wall_s: float) -> None:
        """The record for the live view."""
        reader, tokens = self.reader, self._spent()
        self.entry = replace(
            self.entry, session_id=reader.session_id or self.entry.session_id, model=reader.model, turns=reader.turns,
            cost_usd=reader.cost_usd, wall_s=round(wall_s, 2), tokens=tokens or self.entry.tokens,
            last_tool=self.hide(reader.last_tool) if reader.last_tool else None,
        )  # fmt: skip
        self.talk.books.write(self.entry, always=False)

    def _finish(self, failure: Failure | None, ended: runner.Ended) -> None:
        self._update(ended.wall_s)
        tokens, source = self._final_tokens(failure)
        error = None if failure is None else {"kind": failure.kind, "text": failure.text}
        known = tokens is not None and self.reader.complete
        cut = ended.stopped is not None or (failure is not None and failure.kind == "killed")
        self.entry = replace(
            self.entry,
            state=ledger.ENDED,
            tokens=tokens,
            source=source,
            complete=known and not cut,
            error=error,
            pid=None,
        )
        self.talk.books.write(self.entry)
        self.talk.entries.append(self.entry)

    def _final_tokens(self, failure: Failure | None) -> tuple[Tokens | None, str]:
        """(tokens, where they are from): the stream's own sum when the run ended well, else the larger of both."""
        told = self.reader.tokens
        if not self.talk.adapter.LIVE_TOKENS:
            told = self._since(told)
        if failure is None and told is not None:
            return told, ledger.STREAM
        found = self._since(self._recovered(self.reader.session_id or self.entry.session_id))
        if found is not None and (told is None or found.total > told.total):
            return found, ledger.SESSION_FILE
        if told is not None:
            return told, ledger.STREAM
        never_asked = failure is not None and failure.kind == MISSING
        return (Tokens(), ledger.STREAM) if never_asked else (None, ledger.NOT_KNOWN)


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for the socket and the settings of a session; short, since a socket's path may have 100 characters."""
    with tempfile.TemporaryDirectory(prefix="kws-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def spent_budget(failure: Failure | None) -> bool:
    return failure is not None and failure.kind in BUDGETS
