"""Independent reviewers of a plan: other agents read it in sessions of their own, each in a process of its own.

What they say is recorded in the plan and shown to who carries it out; it decides nothing. A reviewer that cannot be asked
is recorded as absent.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright import agents, artifacts, cli
from kernelwright.agents import context
from kernelwright.agents.base import EpisodeContext, no_model_usage, unknown_usage
from kernelwright.agents.sessions import handoff
from kernelwright.errors import InputError, KernelwrightError

AGREE, OBJECT, ABSENT = "agree", "object", "absent"
REVIEW = "review.json"
MODULE = "kernelwright.agents.sessions.review"
NOTHING = {**no_model_usage(0.0), "cached_input_tokens": 0, "reasoning_tokens": 0, "sessions": 0}
LONGEST_REASON = 1000  # characters
MOST_REASONS = 10


def read(folder: Path) -> dict[str, Any]:
    """{verdict, reasons} that a reviewer left. Raises InputError."""
    body = handoff.read_object(folder / REVIEW)
    verdict, reasons = body.get("verdict"), body.get("reasons")
    if set(body) != {"verdict", "reasons"} or verdict not in (AGREE, OBJECT):
        raise InputError(f'{REVIEW}: expected {{"verdict": "agree" or "object", "reasons": [...]}}')
    if not isinstance(reasons, list) or not all(isinstance(reason, str) for reason in reasons):
        raise InputError(f"{REVIEW}: reasons: a list of sentences is expected")
    return {"verdict": verdict, "reasons": [reason[:LONGEST_REASON] for reason in reasons[:MOST_REASONS]]}


def absent(agent: str, why: str, usage: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"agent": agent, "verdict": ABSENT, "reasons": [why], "usage": dict(usage or unknown_usage(0.0))}


def collect(ctx: EpisodeContext, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ask every reviewer of the configuration at once. Each is a process, since a session ends all its descendants."""
    names = list(dict.fromkeys(ctx.config["agents"].get("session", {}).get("reviewers", [])))
    if not names:
        return []
    with tempfile.TemporaryDirectory(prefix="kwr-") as folder:
        given = Path(folder) / "plan.json"
        given.write_text(json.dumps(plan))
        settings = Path(folder) / "config.json"  # JSON is YAML
        settings.write_text(json.dumps(ctx.config))
        asked = []
        for name in names:
            command = [sys.executable, "-m", MODULE, "--campaign", str(ctx.campaign.root), "--bucket", ctx.bucket]
            command += ["--version", str(ctx.version), "--operator-dir", str(ctx.operator.source)]
            command += ["--config", str(settings), "--agent", name, "--plan", str(given)]
            command += ["--output", str(Path(folder) / f"{name}.json")]
            asked.append((name, subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)))
        return [_answer(name, child, Path(folder) / f"{name}.json") for name, child in asked]


def _answer(name: str, child: subprocess.Popen[bytes], path: Path) -> dict[str, Any]:
    child.wait()  # the session inside has a limit of wall clock
    if not path.is_file():
        return absent(name, f"the reviewer's process ended with code {child.returncode}")
    return dict(artifacts.read_json(path))


def asked(ctx: EpisodeContext, agent: str, plan: Mapping[str, Any]) -> dict[str, Any]:
    """One reviewer's answer; whatever keeps it from one makes it absent."""
    try:
        module = agents.get(agent)
        if not hasattr(module, "review"):
            return absent(agent, f"agent {agent} cannot review", NOTHING)
        return {"agent": agent, **module.review(ctx, plan)}
    except KernelwrightError as error:
        return absent(agent, str(error), getattr(error, "usage", None))


def add_usage(usage: Mapping[str, Any], reviews: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The plan's usage with the tokens, cost and sessions of its reviewers; unknown as soon as one is unknown."""
    found = dict(usage)
    for key in ("input_tokens", "output_tokens", "cost_usd", "cached_input_tokens", "reasoning_tokens", "sessions"):
        values = [one.get(key) for one in (usage, *(review["usage"] for review in reviews))]
        if key in usage:
            found[key] = (
                None if any(value is None for value in values) else sum(value for value in values if value is not None)
            )
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright review", description=__doc__)
    context.step_arguments(parser)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    from kernelwright.config import load

    ctx = context.build(arguments, load(arguments.config))
    answer = asked(ctx, arguments.agent, artifacts.read_json(arguments.plan))
    artifacts.write_text(arguments.output, json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(cli.step(main)())
