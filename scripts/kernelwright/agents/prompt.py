"""The page an agent reads: the campaign's facts and the rules of a valid kernel, from agents/prompts/*.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright import frameworks
from kernelwright.agents import disguise, lessons
from kernelwright.agents.base import EpisodeContext
from kernelwright.knowledge.wiki import cite

PROMPTS = Path(__file__).parent / "prompts"
LONGEST_REFERENCE = 20_000  # characters


def reference_source(operator: Any) -> str:
    """Source of the operator's reference."""
    if operator.layout == "sol_execbench":
        return str(operator.details["reference"])
    path = operator.source if operator.layout == "kernelbench" else operator.directory / "reference.py"
    return str(path.read_text())


def page(name: str, **facts: Any) -> str:
    """One page of agents/prompts with `facts`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(PROMPTS)
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    text: str = environment.get_template(f"{name}.md").render(**facts)
    return text


def filled(text: str, **facts: Any) -> str:
    """A template's text with `facts`."""
    from jinja2 import Environment, StrictUndefined

    made: str = Environment(undefined=StrictUndefined, keep_trailing_newline=True).from_string(text).render(**facts)
    return made


def kernel_name(ctx: EpisodeContext) -> str | None:
    """The kernel file relative to the session's folder."""
    if ctx.kernel_file is None or ctx.worktree is None:
        return None
    return str(ctx.kernel_file.relative_to(ctx.worktree))


def render(ctx: EpisodeContext, step: str, plan: Mapping[str, Any] | None = None) -> str:
    """The prompt of a step: `plan` or `candidate`, or `session_plan` or `session_candidate` for CLIs with tools."""
    names = disguise.names_of(ctx)
    problem = disguise.problem(ctx, names)
    reference = reference_source(ctx.operator).strip()
    if len(reference) > LONGEST_REFERENCE:
        reference = reference[:LONGEST_REFERENCE] + "\n# (cut here: the whole file is operator/reference.py)"
    return page(
        step, ctx=ctx, specs=ctx.specs, profile=disguise.shown_profile(ctx, names), plan=names.show(plan),
        workloads=problem["workloads"], ranges=problem["ranges"], lessons=lessons.shown(ctx, names),
        kernel_file=ctx.kernel_file, kernel_name=kernel_name(ctx), tools=step.startswith("session_"),
        session=ctx.config["agents"].get("session"),
        reference=reference, entry=ctx.operator.candidate_name,
        cards=cite.for_plan(ctx.specs, ctx.profile, getattr(ctx.operator, "family", None), "", ctx.config),
        guidance=frameworks.get(ctx.specs["framework"]).GUIDANCE.read_text().strip(),
    )  # fmt: skip
