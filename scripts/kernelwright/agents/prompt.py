"""The page an agent reads: the campaign's facts and the rules of a valid kernel, from agents/prompts/*.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright import frameworks
from kernelwright.agents.base import EpisodeContext
from kernelwright.knowledge.wiki import cite

PROMPTS = Path(__file__).parent / "prompts"


def reference_source(operator: Any) -> str:
    """Source of the operator's reference."""
    if operator.layout == "sol_execbench":
        return str(operator.details["reference"])
    path = operator.source if operator.layout == "kernelbench" else operator.directory / "reference.py"
    return str(path.read_text())


def render(ctx: EpisodeContext, step: str, plan: Mapping[str, Any] | None = None) -> str:
    """The prompt of a step, `plan` or `candidate`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(PROMPTS)
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    workloads = {key: ctx.specs["workloads"][key] for key in ctx.workloads}
    text: str = environment.get_template(f"{step}.md").render(
        ctx=ctx, specs=ctx.specs, profile=ctx.profile, plan=plan, workloads=workloads, kernel_file=ctx.kernel_file,
        reference=reference_source(ctx.operator).strip(), entry=ctx.operator.candidate_name,
        cards=cite.for_plan(ctx.specs, ctx.profile, getattr(ctx.operator, "family", None), "", ctx.config),
        guidance=frameworks.get(ctx.specs["framework"]).GUIDANCE.read_text().strip(),
    )  # fmt: skip
    return text
