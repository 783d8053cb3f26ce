"""Any program as an agent: it edits the kernel file in its worktree; how it does that is its own business.

It gets the prompt on stdin and in the file $KERNELWRIGHT_PROMPT, and KERNELWRIGHT_KERNEL (the file to edit),
KERNELWRIGHT_WORKTREE, _OPERATOR, _OPERATOR_DIR (not in production mode, which hides sizes), _FRAMEWORK, _PLATFORM, _MODE,
_BUCKET, _VERSION and _STEP (plan or candidate). In the plan step it may leave plan.json in its folder; otherwise a
mechanical plan that cites the top bottleneck stands in.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.agents import disguise, processes, prompt
from kernelwright.agents.base import CANDIDATE_READY, FAILED, EpisodeContext, Outcome, unknown_usage
from kernelwright.errors import InputError

MOST_OUTPUT = 200_000  # characters of stdout and stderr each that session.jsonl keeps, from the end
PLAN_KEYS = ("hypothesis", "category", "evidence", "wiki", "change", "predicted_gain")


def settings(ctx: EpisodeContext) -> tuple[list[str], float]:
    """(argv, timeout in seconds). Raises InputError when no program is configured."""
    command = ctx.config["agents"]["command"]
    if not command["argv"]:
        raise InputError(
            "config: agents.command.argv: [] is empty; the program to run is needed, e.g. ['my-agent', '--fast']"
        )
    return list(command["argv"]), float(command["timeout_s"])


def environment(ctx: EpisodeContext, step: str, folder: Path, prompt_file: Path, kernel: Path) -> dict[str, str]:
    specs = ctx.specs
    operator = {} if specs["mode"] == "production" else {"KERNELWRIGHT_OPERATOR_DIR": str(ctx.operator.source)}
    return {
        **os.environ,
        **operator,
        "KERNELWRIGHT_PROMPT": str(prompt_file),
        "KERNELWRIGHT_KERNEL": str(kernel),
        "KERNELWRIGHT_WORKTREE": str(folder),
        "KERNELWRIGHT_OPERATOR": str(specs["operator"]["name"]),
        "KERNELWRIGHT_FRAMEWORK": str(specs["framework"]),
        "KERNELWRIGHT_PLATFORM": str(specs["platform"]["name"]),
        "KERNELWRIGHT_MODE": str(specs["mode"]),
        "KERNELWRIGHT_BUCKET": ctx.bucket,
        "KERNELWRIGHT_VERSION": str(ctx.version),
        "KERNELWRIGHT_STEP": step,
    }


def run(argv: list[str], folder: Path, text: str, env: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    """One session: {event, argv, exit_code, timed_out, wall_s, stdout, stderr}. No process of it is left afterwards."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(
                argv, cwd=folder, env=dict(env), stdin=subprocess.PIPE, stdout=out, stderr=err, start_new_session=True
            )
        except OSError as error:
            raise InputError(f"config: agents.command.argv: {argv[0]!r} cannot be started: {error.strerror}") from None
        with processes.reaped(child.pid):
            timed_out = False
            try:
                child.communicate(text.encode(), timeout=timeout_s)
            except subprocess.TimeoutExpired:
                timed_out = True
        child.wait()
        record = {"event": "session", "argv": argv, "exit_code": child.returncode, "timed_out": timed_out}
        record["wall_s"] = time.monotonic() - start
        return record | {name: _tail(stream) for name, stream in (("stdout", out), ("stderr", err))}


def _tail(stream: Any) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - MOST_OUTPUT))
    text: str = stream.read().decode(errors="replace")
    return text


def mechanical_plan(ctx: EpisodeContext) -> dict[str, Any]:
    """A plan that cites the top bottleneck, for programs that do not plan."""
    bottlenecks = ctx.profile.get("bottlenecks") or []
    top = bottlenecks[0] if bottlenecks else {"bound": "unknown", "evidence": [], "expected_gain": None}
    metrics = ctx.profile["metrics"]
    evidence = [
        {"metric": name, "value": metrics[name]["value"], "unit": metrics[name]["unit"]} for name in top["evidence"]
    ]
    return {
        "hypothesis": f"the {top['bound']} bound of the incumbent can be lowered",
        "category": "other", "evidence": evidence, "wiki": [], "predicted_gain": top["expected_gain"],
        "change": "left to the program of agents.command.argv",
    }  # fmt: skip


def written_plan(path: Path) -> dict[str, Any] | None:
    """The plan that the program left, its known keys only; None when there is none. Raises InputError for a fault."""
    if not path.is_file():
        return None
    try:
        body = json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"plan.json of the agent: not valid JSON ({error})") from None
    missing = [key for key in PLAN_KEYS if key not in body] if isinstance(body, dict) else list(PLAN_KEYS)
    if missing:
        raise InputError(f"plan.json of the agent: missing key {', '.join(map(repr, missing))}")
    return {key: body[key] for key in PLAN_KEYS}


def revealed(body: dict[str, Any] | None, ctx: EpisodeContext) -> dict[str, Any] | None:
    """The plan with the metrics' real names, where production mode showed others."""
    if body is None or not isinstance(body["evidence"], list):
        return body
    entries = [entry for entry in body["evidence"] if isinstance(entry, dict)]
    return {**body, "evidence": disguise.revealed_evidence(entries, ctx, disguise.names_of(ctx))}


class CommandAgent:
    """Runs `agents.command.argv`, once to plan and once to write a candidate."""

    def plan(self, ctx: EpisodeContext) -> dict[str, Any]:
        argv, timeout_s = settings(ctx)
        text = prompt.render(ctx, "plan")
        with tempfile.TemporaryDirectory(prefix="kernelwright-plan-") as name:
            folder = Path(name)
            kernel = folder / "kernel.py"
            kernel.write_text(ctx.incumbent_file.read_text())
            prompt_file = folder / "prompt.md"
            prompt_file.write_text(text)
            session = run(argv, folder, text, environment(ctx, "plan", folder, prompt_file, kernel), timeout_s)
            body = revealed(written_plan(folder / "plan.json"), ctx) or mechanical_plan(ctx)
        usage = unknown_usage(session["wall_s"])
        return {"status": "planned", "blocker": None, "dropout": ctx.dropped_hypotheses, **body, "usage": usage}

    def candidate(self, ctx: EpisodeContext, plan: Mapping[str, Any]) -> Outcome:
        argv, timeout_s = settings(ctx)
        if ctx.worktree is None or ctx.kernel_file is None:
            raise ValueError("the candidate step needs a worktree")
        if ctx.specs["mode"] == "production":
            disguise.hide_files(ctx.worktree)
        before = ctx.kernel_file.read_text() if ctx.kernel_file.is_file() else ""
        text = prompt.render(ctx, "candidate", plan)
        with tempfile.TemporaryDirectory(prefix="kernelwright-prompt-") as name:
            prompt_file = Path(name) / "prompt.md"
            prompt_file.write_text(text)
            env = environment(ctx, "candidate", ctx.worktree, prompt_file, ctx.kernel_file)
            session = run(argv, ctx.worktree, text, env, timeout_s)
        after = ctx.kernel_file.read_text() if ctx.kernel_file.is_file() else ""
        usage = unknown_usage(session["wall_s"])
        if session["timed_out"]:
            return Outcome(FAILED, f"the program ran longer than {timeout_s:.0f} s and was ended", usage, [session])
        if session["exit_code"] != 0:
            return Outcome(FAILED, f"the program ended with exit code {session['exit_code']}", usage, [session])
        if not after.strip() or after == before:
            return Outcome(FAILED, "the program left the kernel file as it was", usage, [session])
        return Outcome(CANDIDATE_READY, "the program edited the kernel file", usage, [session])


AGENT = CommandAgent()
