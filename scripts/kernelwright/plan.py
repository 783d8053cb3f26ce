"""Step `plan`: an agent says what the next episode tries and why; what it cites is checked against the profile."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright import agents, artifacts, cli
from kernelwright.agents import context
from kernelwright.agents.base import EpisodeContext, unknown_usage
from kernelwright.agents.sessions import ledger, review
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.knowledge.wiki import cite

RELATIVE_TOLERANCE = 1e-6  # of a cited value, for values that went through decimal text
MARKDOWN = """# Plan {bucket} v{version:03d}: {status}

{body}
"""


def check_evidence(plan: Mapping[str, Any], profile: Mapping[str, Any]) -> None:
    """Every cited metric must be in the profile with that value and unit. Raises InputError naming one that is not."""
    metrics = profile["metrics"]
    for entry in plan["evidence"]:
        name = entry["metric"]
        if name not in metrics:
            raise InputError(
                f"plan: evidence: metric {name!r} is not in the profile; allowed: {', '.join(sorted(metrics))}"
            )
        known = metrics[name]
        if entry["unit"] != known["unit"] or not _same(entry["value"], known["value"]):
            raise InputError(
                f"plan: evidence: {name}: {entry['value']} {entry['unit']}, "
                f"the profile has {known['value']} {known['unit']}"
            )


def check_cited(plan: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """A model's plan cites at least one metric, and only wiki cards that there are. Raises InputError."""
    if not plan["evidence"]:
        raise InputError("plan: evidence: [] is empty; at least one metric of the profile is expected")
    if not isinstance(plan["wiki"], list) or not all(isinstance(card, str) for card in plan["wiki"]):
        raise InputError("plan: wiki: a list of card ids is expected, [] when none fits")
    cite.files(plan["wiki"], config)


def _same(given: float | None, known: float | None) -> bool:
    if given is None or known is None:
        return given is known
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    return math.isclose(given, known, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)


def blocked(reason: str, agent: str, usage: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A plan of an agent that could not plan; the same blocker again and again ends the search."""
    return {
        "status": "blocked", "blocker": reason, "agent": agent, "hypothesis": "", "category": "other", "evidence": [],
        "wiki": [], "change": "", "predicted_gain": None, "usage": dict(usage or unknown_usage(0.0)),
    }  # fmt: skip


def make(ctx: EpisodeContext, agent_name: str, where: Path) -> dict[str, Any]:
    """The agent's plan with bucket, version and agent, checked; a plan that fails its check becomes a blocked one."""
    head = {"bucket": ctx.bucket, "version": ctx.version}
    usage = None
    try:
        body = agents.get(agent_name).plan(ctx)
        usage = body.get("usage")
        body = {**head, "agent": agent_name, **body}
        check = {
            "schema_version": artifacts.SCHEMA_VERSION,
            "kind": "plan",
            "provenance": artifacts.provenance(),
            **body,
        }
        artifacts.validate(check, "plan", where)
        check_evidence(body, ctx.profile)
        cite.files(body["wiki"], ctx.config)
        return reviewed(ctx, body)
    except KernelwrightError as error:
        print(f"plan: blocked: {error}", file=sys.stderr)
        spent = getattr(error, "usage", usage)  # sessions that left no plan have spent something all the same
        return {**head, **blocked(str(error), agent_name, spent)}


def reviewed(ctx: EpisodeContext, body: dict[str, Any]) -> dict[str, Any]:
    """The plan with what its reviewers say; what they spent is part of its usage."""
    if body["status"] != "planned":
        return body
    reviews = review.collect(ctx, body)
    if not reviews:
        return body
    return {**body, "reviews": reviews, "usage": review.add_usage(body["usage"], reviews)}


def markdown(plan: Mapping[str, Any]) -> str:
    """plan.md: the plan on a short page."""
    if plan["status"] == "blocked":
        body = f"The agent `{plan['agent']}` is blocked: {plan['blocker']}."
    else:
        evidence = [f"- {entry['metric']}: {_number(entry['value'])} {entry['unit']}" for entry in plan["evidence"]]
        lines = [
            f"**Hypothesis.** {plan['hypothesis']}",
            f"**Change** ({plan['category']}). {plan['change']}",
            "**Evidence.**\n\n" + ("\n".join(evidence) or "- none"),
            f"**Predicted gain.** {_gain(plan['predicted_gain'])}",
        ]
        if plan["wiki"]:
            lines.append("**Wiki cards.** " + ", ".join(plan["wiki"]))
        if plan.get("dropout"):
            lines.append("**Left out of planning this time.**\n\n" + "\n".join(f"- {text}" for text in plan["dropout"]))
        for said in plan.get("reviews", []):
            lines.append(f"**Reviewer {said['agent']}: {said['verdict']}.** " + " ".join(said["reasons"]))
        body = "\n\n".join(lines)
    return MARKDOWN.format(bucket=plan["bucket"], version=plan["version"], status=plan["status"], body=body)


def _gain(value: float | None) -> str:
    return "unknown" if value is None else f"at most {value:.2f}x, if the top bottleneck were gone"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright plan", description=__doc__)
    context.step_arguments(parser)
    parser.add_argument("--output", type=Path, required=True, help="plan.json")
    parser.add_argument("--markdown", type=Path, required=True, help="plan.md")
    arguments = parser.parse_args(argv)
    found = context.opened(arguments, "plan")
    if found is None:
        return 0
    settings, campaign = found
    ctx = context.build(arguments, settings)
    plan = make(ctx, settings["agent"], arguments.output)
    profile = campaign.version_dir(arguments.bucket, arguments.version) / "profile.json"
    cited = {f"wiki:{name}": artifacts.sha256_file(path) for name, path in cite.files(plan["wiki"], settings).items()}
    sessions = ledger.parents(campaign, arguments.bucket, arguments.version, "plan")
    artifacts.write(
        arguments.output,
        "plan",
        plan,
        agent=settings["agent"],
        parents={"profile.json": artifacts.sha256_file(profile), **sessions, **cited},
    )
    artifacts.write_text(arguments.markdown, markdown(plan))
    return 0


if __name__ == "__main__":
    sys.exit(cli.step(main)())
