"""An agent that drives a coding CLI: plan and candidate as sessions under the supervisor's control."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.agents import disguise, prompt
from kernelwright.agents.base import BLOCKED, CANDIDATE_READY, FAILED, PIVOT, EpisodeContext, Outcome
from kernelwright.agents.sessions import handoff, ledger, review, secrets
from kernelwright.agents.sessions.adapter import Adapter, Launch, settings_of
from kernelwright.agents.sessions.ledger import Ledger
from kernelwright.agents.sessions.record import Failure
from kernelwright.agents.sessions.session import Talk, private_folder
from kernelwright.agents.tools import client, server
from kernelwright.agents.tools.toolbox import Toolbox, Trial
from kernelwright.errors import InputError, KernelwrightError

EPISODES = {  # verbs of each kind of episode
    "fast": ("judge", "compile", "status"),
    "full": ("judge", "compile", "profile", "wiki", "memory", "status"),
    "goal": ("judge", "compile", "profile", "wiki", "memory", "status"),
}
PLANNING = ("profile", "wiki", "memory")
LAUNCHER = """#!/bin/sh
{variable}={socket} exec {python} -I {client} "$@"
"""


def books(ctx: EpisodeContext, step: str) -> Ledger:
    where = ledger.folder(ctx.campaign, ctx.bucket, ctx.version)
    return Ledger(where, step, artifacts.sha256_file(ctx.campaign.specs))


def no_judge(*_: Any) -> dict[str, Any]:
    raise InputError("there is no judge in the plan step")


@contextmanager
def tools(box: Toolbox, private: Path) -> Iterator[dict[str, str]]:
    """Serve a session's tools; yields the variables that lead to them.

    The command `./kernelwright tool` lies in the session's folder: a login shell forgets variables, and PATH first.
    """
    launcher = box.root / "kernelwright"
    python, script = shlex.quote(sys.executable), shlex.quote(str(Path(client.__file__).resolve()))
    socket_path = shlex.quote(str(private / "tool.sock"))
    launcher.write_text(
        LAUNCHER.format(variable=client.SOCKET_VARIABLE, socket=socket_path, python=python, client=script)
    )
    launcher.chmod(0o755)
    with server.serving(box, private / "tool.sock") as socket:
        yield {client.SOCKET_VARIABLE: str(socket)}


class CodingAgent:
    """`plan` and `candidate` of agents.base.Agent over one CLI."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter

    def talk(self, ctx: EpisodeContext, step: str, box: Toolbox, private: Path, tool: Mapping[str, str]) -> Talk:
        """The sessions of a step. Raises InputError for unusable settings."""
        settings = settings_of(self.adapter.NAME, os.environ, ctx.config["agents"]["session"])
        mcp = None
        if ctx.config["agents"]["session"]["mcp"]:
            mcp = [
                sys.executable,
                "-E",
                "-s",
                str(Path(server.__file__).with_name("mcp.py")),
                tool[client.SOCKET_VARIABLE],
            ]
        return Talk(ctx, self.adapter, settings, books(ctx, step), box.root, private, tool, mcp, box.lock.locked)

    def redactor(self) -> Callable[[str], str]:
        """Takes the secrets that a session can see out of what it leaves."""
        return secrets.redactor(os.environ, settings_of(self.adapter.NAME, os.environ, {}).env)

    def checks(self) -> list[tuple[str, str | None, str]]:
        """(what, found or None, how to get it): the CLI's version and login, by its own commands."""
        settings = settings_of(self.adapter.NAME, os.environ, {})
        environment = self.adapter.environment(Launch("", "", settings, Path("/nonexistent")))
        version = self.adapter.version(environment)
        found: list[tuple[str, str | None, str]] = [(f"agent {self.adapter.NAME}", version, self.adapter.INSTALL)]
        if version is not None:
            logged_in, said = self.adapter.login(environment)
            remedy = f"log in with {Path(self.adapter.PROGRAM).name}, or set its API key: {said}"
            words = said if logged_in else "unknown: " + said if logged_in is None else None
            found.append((f"login of {self.adapter.NAME}", words, remedy))
        return found

    def plan(self, ctx: EpisodeContext) -> dict[str, Any]:
        """Body of plan.json. Raises KernelwrightError when no session leaves a sound plan; `usage` is then on it."""
        start = time.monotonic()
        names = disguise.names_of(ctx)
        with self.desk(ctx, "plan", names) as talk:
            folder, text = talk.folder, prompt.render(ctx, "session_plan")
            failure = talk.converse(
                text, lambda: fault_of(lambda: sound_plan(folder, ctx, names), names), finisher(handoff.PLAN)
            )
            usage = ledger.usage(talk.entries, time.monotonic() - start, 0)
            body = owed(lambda: sound_plan(folder, ctx, names), failure, usage)
            body = json.loads(self.redactor()(json.dumps(body)))
        return {"status": "planned", "blocker": None, "dropout": ctx.dropped_hypotheses, **body, "usage": usage}

    def review(self, ctx: EpisodeContext, plan: Mapping[str, Any]) -> dict[str, Any]:
        """{verdict, reasons, usage} of a plan of another agent. Raises KernelwrightError as `plan` does."""
        start = time.monotonic()
        names = disguise.names_of(ctx)
        with self.desk(ctx, f"review_{self.adapter.NAME}", names) as talk:
            folder = talk.folder
            shown = {key: names.show(plan)[key] for key in handoff.PLAN_KEYS}
            (folder / handoff.PLAN).write_text(json.dumps(shown, indent=1) + "\n")
            text = prompt.render(ctx, "session_review", plan)
            failure = talk.converse(text, lambda: fault_of(lambda: review.read(folder), names), finisher(review.REVIEW))
            usage = ledger.usage(talk.entries, time.monotonic() - start, 0)
            body = owed(lambda: review.read(folder), failure, usage)
            body = json.loads(self.redactor()(json.dumps(body)))
        return {**body, "usage": usage}

    @contextmanager
    def desk(self, ctx: EpisodeContext, step: str, names: disguise.Names) -> Iterator[Talk]:
        """A throwaway folder with the incumbent and its profile, and the tools that need no judge."""
        with (
            tempfile.TemporaryDirectory(prefix="kwp-", ignore_cleanup_errors=True) as name,
            private_folder() as private,
        ):
            folder = Path(name)
            (folder / "kernel.py").write_text(ctx.incumbent_file.read_text())
            (folder / "profile.json").write_text(json.dumps(disguise.shown_profile(ctx, names), indent=1) + "\n")
            evidence = ledger.folder(ctx.campaign, ctx.bucket, ctx.version) / step
            box = Toolbox(ctx, folder, evidence, no_judge, 0, verbs=PLANNING)
            with tools(box, private) as tool:
                yield self.talk(ctx, step, box, private, tool)

    def candidate(self, ctx: EpisodeContext, plan: Mapping[str, Any]) -> Outcome:
        if ctx.worktree is None or ctx.kernel_file is None or ctx.judge is None:
            raise ValueError("the candidate step needs a worktree and a judge")
        start = time.monotonic()
        policy = ctx.config["agents"]["session"]
        names = disguise.names_of(ctx)
        if names.hidden:
            disguise.hide_files(ctx.worktree)
        before = ctx.kernel_file.read_text() if ctx.kernel_file.is_file() else ""
        shown = disguise.shown_profile(ctx, names)
        (ctx.worktree / "profile.json").write_text(json.dumps(shown, indent=1) + "\n")
        evidence = ctx.campaign.version_dir(ctx.bucket, ctx.version) / "candidate" / "evidence"
        verbs = EPISODES[policy["episode"]]
        box = Toolbox(ctx, ctx.worktree, fresh(evidence), ctx.judge, policy["trials"], self.redactor(), verbs)
        ctx.prepare_judge()
        with private_folder() as private, tools(box, private) as tool:
            talk = self.talk(ctx, "candidate", box, private, tool)
            text = prompt.render(ctx, "session_candidate", plan)
            failure = talk.converse(text, lambda: candidate_fault(ctx, before, box), finisher("handoff.json"))
        usage = ledger.usage(talk.entries, time.monotonic() - start, len(box.trials))
        log = [line for entry in talk.entries for line in session_lines(talk.books.log(entry.number))]
        return concluded(ctx, before, box, failure, usage, log)


class NotDelivered(KernelwrightError):
    """No session left what it owes; `usage` is what they spent."""

    def __init__(self, text: str, usage: dict[str, Any]) -> None:
        super().__init__(text)
        self.usage = usage


def fresh(folder: Path) -> Path:
    """An empty folder: evidence of an earlier, killed attempt is not this one's."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def finisher(owed: str) -> Callable[[str], str]:
    """Prompt of a resumed session: what is wrong with what it left."""
    return lambda wrong: prompt.page("session_finish", owed=owed, wrong=wrong)


def session_lines(path: Path) -> list[dict[str, Any]]:
    from kernelwright.agents.sessions.adapter import jsonl

    return jsonl(path) if path.is_file() else []


def sound_plan(folder: Path, ctx: EpisodeContext, names: disguise.Names) -> dict[str, Any]:
    """The plan that a session left, what it cites checked. Raises InputError naming the first fault."""
    from kernelwright.plan import check_cited, check_evidence  # plan imports the agents by name, at run time

    body = handoff.read_plan(folder)
    if not isinstance(body["evidence"], list) or not all(isinstance(entry, dict) for entry in body["evidence"]):
        raise InputError("plan.json: evidence: a list of objects is expected")
    for entry in body["evidence"]:
        if set(entry) != {"metric", "value", "unit"}:
            raise InputError("plan.json: evidence: each entry has exactly the keys metric, value, unit")
    body["evidence"] = disguise.revealed_evidence(body["evidence"], ctx, names)
    check_cited(body, ctx.config)
    check_evidence(body, ctx.profile)
    return body


def fault_of(check: Callable[[], Any], names: disguise.Names) -> str | None:
    """What is wrong with what a session left, in words that it may read."""
    try:
        check()
    except InputError as error:
        return str(names.show(str(error)))
    return None


def owed(read: Callable[[], dict[str, Any]], failure: Failure | None, usage: dict[str, Any]) -> dict[str, Any]:
    """What a session owes. Raises NotDelivered with the reason and what was spent."""
    try:
        return read()
    except InputError as error:
        raise NotDelivered(str(error) if failure is None else f"{failure.kind}: {failure.text}", usage) from None


def candidate_fault(ctx: EpisodeContext, before: str, box: Toolbox) -> str | None:
    """What is missing of a handoff, in words for the agent; in a goal episode also that the goal is not reached."""
    assert ctx.worktree is not None
    try:
        said = handoff.read(ctx.worktree)
    except InputError as error:
        return str(error)
    if said["outcome"] != CANDIDATE_READY:
        return None
    if not changed(ctx, before):
        return "outcome is candidate_ready, but the kernel file is as it was"
    policy = ctx.config["agents"]["session"]
    best = box.best()
    if policy["episode"] != "goal" or len(box.trials) >= policy["trials"]:
        return None
    reached = best is not None and (best.speedup or 0.0) >= policy["goal_speedup"]
    return None if reached else f"the goal of {policy['goal_speedup']} times the incumbent's speed is not reached yet"


def holds_secret(ctx: EpisodeContext, box: Toolbox) -> bool:
    assert ctx.kernel_file is not None
    text = ctx.kernel_file.read_text(errors="replace")
    return box.hide(text) != text


def changed(ctx: EpisodeContext, before: str) -> bool:
    assert ctx.kernel_file is not None
    if not ctx.kernel_file.is_file() or ctx.kernel_file.is_symlink():
        return False
    after = ctx.kernel_file.read_text(errors="replace")
    return bool(after.strip()) and after != before


def concluded(
    ctx: EpisodeContext, before: str, box: Toolbox, failure: Failure | None, usage: dict[str, Any],
    log: list[dict[str, Any]],
) -> Outcome:  # fmt: skip
    """The outcome: what the handoff says; without one, the best kernel that the judge accepted in the session."""
    assert ctx.worktree is not None
    try:
        said: dict[str, Any] | None = json.loads(box.hide(json.dumps(handoff.read(ctx.worktree))))
        wrong = ""
    except InputError as error:
        said, wrong = None, str(error)
    if said is not None and said["outcome"] in (PIVOT, BLOCKED):
        return Outcome(said["outcome"], said["summary"], usage, log, said)
    if changed(ctx, before) and holds_secret(ctx, box):
        return Outcome(FAILED, "the kernel file holds the value of a secret variable", usage, log, said)
    if said is not None and changed(ctx, before):
        return Outcome(CANDIDATE_READY, said["summary"], usage, log, said)
    why = f"{failure.kind}: {failure.text}" if failure is not None else wrong or "the kernel file is as it was"
    best = box.best()
    if best is not None:
        return salvaged(ctx, best, why, usage, log, said)
    return Outcome(FAILED, why, usage, log, said)


def salvaged(
    ctx: EpisodeContext, best: Trial, why: str, usage: dict[str, Any], log: list[dict[str, Any]], said: Any
) -> Outcome:
    """The best kernel of the supervisor's own copies: a session that broke off loses nothing that was proven."""
    assert ctx.kernel_file is not None
    ctx.kernel_file.unlink(missing_ok=True)
    ctx.kernel_file.write_bytes(best.kernel.read_bytes())
    return Outcome(CANDIDATE_READY, f"trial {best.number} of a session that ended early ({why})", usage, log, said)
