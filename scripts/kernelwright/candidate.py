"""Step `candidate`: an agent edits the kernel file of an episode's worktree; what it leaves there is the candidate."""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelwright import agents, artifacts, cli, judging, workspace
from kernelwright.agents import context
from kernelwright.agents.base import BLOCKED, CANDIDATE_READY, FAILED, EpisodeContext, JudgeCall, Outcome, unknown_usage
from kernelwright.agents.sessions import ledger


def judge_call(ctx: EpisodeContext, operator_dir: Path) -> JudgeCall:
    """The judge as agents of this episode may call it: against the incumbent, on workloads of the bucket."""

    def call(kernel: Path, workloads: tuple[str, ...], samples: int, seeds: int, depth: str = "race") -> dict[str, Any]:
        against = ctx.incumbent_file
        request = judging.request(
            ctx.specs, ctx.config, operator_dir, kernel, workloads, against=against, depth=depth, seeds=seeds
        )
        verdict, _ = judging.evaluate(replace(request, samples=samples))
        return verdict

    return call


def run_session(ctx: EpisodeContext, agent_name: str, plan: Mapping[str, Any]) -> Outcome:
    """The agent's session; an agent that crashes is a failed session, not a failed job."""
    if plan["status"] == "blocked":
        return Outcome(BLOCKED, str(plan["blocker"]), plan["usage"] | {"wall_s": 0.0, "trials": 0} | _no_tokens())
    start = time.monotonic()
    try:
        return agents.get(agent_name).candidate(ctx, plan)
    except Exception as error:  # an agent is a plug-in: whatever it raises ends its episode only
        log = [{"event": "crashed", "error": repr(error), "traceback": traceback.format_exc()}]
        return Outcome(FAILED, f"{type(error).__name__}: {error}", unknown_usage(time.monotonic() - start), log)


def _no_tokens() -> dict[str, Any]:
    """A session that was not started spent nothing; what planning cost is in plan.json."""
    return {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}


def kernel_text(ctx: EpisodeContext, outcome: Outcome) -> str:
    """What is handed in: the kernel file, or one comment line when the session left none. A link is no kernel: it could
    lead to a file that the agent could not read itself."""
    file = ctx.kernel_file
    if outcome.outcome == CANDIDATE_READY and file is not None and file.is_file() and not file.is_symlink():
        return file.read_text()
    return f"# no candidate: {outcome.outcome}: {' '.join(outcome.note.split())}\n"


def write_session(folder: Path, agent_name: str, ctx: EpisodeContext, outcome: Outcome) -> None:
    """kernel.py, session.jsonl and usage.json, each whole; usage.json last."""
    text = kernel_text(ctx, outcome)
    artifacts.write_text(folder / "kernel.py", text)
    lines = [json.dumps(entry, default=str) for entry in outcome.log]
    artifacts.write_text(folder / "session.jsonl", "".join(line + "\n" for line in lines))
    body = {"agent": agent_name, "outcome": outcome.outcome, "note": outcome.note, "usage": outcome.usage}
    if outcome.handoff is not None:
        body["handoff"] = outcome.handoff
    digest = artifacts.sha256_file(folder / "kernel.py")
    parents = ledger.parents(ctx.campaign, ctx.bucket, ctx.version, "candidate")
    artifacts.write(folder / "usage.json", "usage", body, agent=agent_name, kernel_sha256=digest, parents=parents)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright candidate", description=__doc__)
    context.step_arguments(parser)
    parser.add_argument("--output-dir", type=Path, required=True, help="candidate/")
    arguments = parser.parse_args(argv)
    found = context.opened(arguments, "candidate")
    if found is None:
        return 0
    settings, campaign = found
    plan = artifacts.read(campaign.version_dir(arguments.bucket, arguments.version) / "plan.json", "plan")
    bare = context.build(arguments, settings)
    episode = workspace.episode_worktree(campaign, arguments.bucket, arguments.version, bare.operator)
    with episode as (worktree, kernel_file):
        judge = judge_call(bare, arguments.operator_dir)
        ctx = replace(bare, worktree=worktree, kernel_file=kernel_file, judge=judge, prepare_judge=judging.prepare)
        outcome = run_session(ctx, settings["agent"], plan)
        write_session(arguments.output_dir, settings["agent"], ctx, outcome)
    print(f"candidate {ctx.bucket} v{ctx.version:03d}: {outcome.outcome}: {outcome.note}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(cli.step(main)())
