"""The built-in agent: templates, Inductor lowerings and retuning, by measurement. Uses no model and no account."""

from __future__ import annotations

import ast
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from kernelwright.agents.base import (
    BLOCKED,
    CANDIDATE_READY,
    FAILED,
    PIVOT,
    EpisodeContext,
    Outcome,
    no_model_usage,
)
from kernelwright.errors import KernelwrightError
from kernelwright.knowledge.wiki import cite
from kernelwright.search import halving, recognise, space, templates
from kernelwright.search.templates.base import Facts

NOTHING_LEFT = "the search agent has no untried idea for this bucket"
LEAST_PROMISE = 0.9  # measured speed over the incumbent's below which another route to the same code is not tried
COMPILED = ("torch_compile_speedup", "torch_compile_best_speedup")
NOT_FASTER = ("not_faster",)  # a rejection that still carries a credible time


@dataclass(frozen=True)
class Idea:
    """One thing to try; `recipe` identifies it among the memories."""

    hypothesis: str
    category: str
    change: str
    recipe: dict[str, Any]


def read_recipe(kernel: Path) -> dict[str, Any] | None:
    """The RECIPE literal of a kernel file that this agent wrote, read without running it; None for other files."""
    try:
        tree = ast.parse(Path(kernel).read_text())
    except (OSError, SyntaxError):
        return None
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["RECIPE"]:
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                return None
            return value if isinstance(value, dict) else None
    return None


def ideas(
    matches: list[dict[str, Any]],
    framework: str,
    bound: str | None,
    incumbent: Path,
    version: int,
    compiled: float | None = None,
) -> list[Idea]:
    """Ideas in the order they are tried: templates (those that act on the top bottleneck first), Inductor, retuning.

    `compiled` is torch.compile's speed over the incumbent's on its best workload. Its code is not tried again where that was far slower,
    unless launch dominates: there the time is that of its runtime, which the lowering leaves behind.
    """
    found = []
    for match in sorted(matches, key=lambda m: (bound not in templates.get(m["template"]).ADDRESSES, m["template"])):
        template = templates.get(match["template"])
        found.append(
            Idea(
                hypothesis=f"{template.NAME} written for this operator beats the incumbent: {template.SUMMARY}",
                category=template.CATEGORY,
                change=f"replace the kernel by the {template.NAME} template, best of its parameter sets",
                recipe={"source": "template", "template": template.NAME, "semantics": match["semantics"]},
            )
        )
    hopeless = compiled is not None and compiled < LEAST_PROMISE and bound != "launch"
    if framework in ("cpp", "triton") and not hopeless:
        found.append(
            Idea(
                hypothesis="TorchInductor's fused lowering of the reference, freed of its runtime, beats the incumbent",
                category="fusion",
                change="replace the kernel by Inductor's generated code with a thin wrapper",
                recipe={"source": "inductor"},
            )
        )
    found += _retunings(matches, incumbent, version)
    return found


def _retunings(matches: list[dict[str, Any]], incumbent: Path, version: int) -> list[Idea]:
    recipe = read_recipe(incumbent)
    known = {match["template"]: match["semantics"] for match in matches}
    if recipe is None or recipe.get("template") not in known:
        return []
    name = recipe["template"]
    return [
        Idea(
            hypothesis=f"parameters of {name} around those of v{version:03d} are not yet the best for this bucket",
            category="tuning",
            change=f"vary the parameters of v{version:03d} one and two at a time",
            recipe={
                "source": "retune",
                "template": name,
                "semantics": known[name],
                "parameters": recipe["parameters"],
                "of": version,
            },
        )
    ]


def idea_key(recipe: Mapping[str, Any]) -> str:
    """What makes two ideas the same: source, template and, for a retuning, the version that it starts from."""
    return json.dumps([recipe.get("source"), recipe.get("template"), recipe.get("of")])


def attempts(recipe: Mapping[str, Any], memories: Iterable[Mapping[str, Any]]) -> int:
    """How many of the memories are of the same idea."""
    key = idea_key(recipe)
    return sum(idea_key(memory["recipe"]) == key for memory in memories if memory.get("recipe"))


def exhausted(recipe: Mapping[str, Any], earlier: int, trials: int) -> bool:
    """Whether `earlier` attempts have left nothing of an idea: a lowering is one kernel, a template a finite space."""
    if recipe["source"] == "inductor":
        return earlier > 0
    return earlier * trials >= space.size(templates.get(recipe["template"]).SPACE)


def pick(
    found: list[Idea], memories: list[dict[str, Any]], dropped: Sequence[dict[str, Any]] = (), trials: int = 1
) -> Idea | None:
    """The first idea that no active memory has tried. One that was dropped out of memory comes again only while it
    has parameter sets that were never measured."""
    for idea in found:
        if not attempts(idea.recipe, memories) and not exhausted(idea.recipe, attempts(idea.recipe, dropped), trials):
            return idea
    return None


class SearchAgent:
    """Plans by elimination, proposes by successive halving through the judge."""

    def plan(self, ctx: EpisodeContext) -> dict[str, Any]:
        start = time.monotonic()
        framework = str(ctx.specs["framework"])
        found = recognise.cached(ctx.operator, framework, ctx.campaign.root / "cache")
        bottlenecks = ctx.profile.get("bottlenecks") or []
        bound = bottlenecks[0]["bound"] if bottlenecks else None
        version = int(ctx.incumbent["version"])
        trials = ctx.config["agents"]["search"]["trials"]
        mean, best = (ctx.profile["metrics"].get(name, {}).get("value") for name in COMPILED)
        known = ideas(found["matches"], framework, bound, ctx.incumbent_file, version, best)
        idea = pick(known, ctx.memories, ctx.dropout, trials)
        usage = no_model_usage(time.monotonic() - start)
        cited = list(bottlenecks[0]["evidence"]) if bottlenecks else []
        predicted = None  # only torch.compile's code was measured before it is written
        if idea is not None and idea.recipe["source"] == "inductor" and mean is not None:
            cited += COMPILED
            predicted = mean
        evidence = [{"metric": name, **_metric(ctx.profile, name)} for name in cited]
        cited_cards = [] if idea is None else cards_for(ctx, idea)
        common = {"evidence": evidence, "wiki": cited_cards, "dropout": ctx.dropped_hypotheses, "usage": usage}
        if idea is None:
            return {
                **common,
                "status": BLOCKED,
                "blocker": NOTHING_LEFT,
                "hypothesis": "",
                "category": "other",
                "change": "",
                "predicted_gain": None,
            }
        return {
            **common,
            "status": "planned",
            "blocker": None,
            "hypothesis": idea.hypothesis,
            "category": idea.category,
            "change": idea.change,
            "recipe": idea.recipe,
            "predicted_gain": predicted,
        }

    def candidate(self, ctx: EpisodeContext, plan: Mapping[str, Any]) -> Outcome:
        start = time.monotonic()
        recipe = plan.get("recipe") or {}
        try:
            kernels = proposals(ctx, recipe)
        except KernelwrightError as error:
            return Outcome(
                PIVOT, str(error), no_model_usage(time.monotonic() - start), [{"event": "refused", "why": str(error)}]
            )
        with tempfile.TemporaryDirectory(prefix="kernelwright-search-") as folder:
            best, trials = compete(ctx, kernels, Path(folder))
        usage = no_model_usage(time.monotonic() - start, trials=len(trials))
        log = [_log_line(trial, kernels) for trial in trials]
        if best is None:
            reason, count = Counter(trial.reason for trial in trials).most_common(1)[0]
            return Outcome(
                FAILED, f"none of {len(kernels)} kernels passed the judge; {count} times {reason}", usage, log
            )
        if ctx.kernel_file is None:
            raise ValueError("the candidate step needs a kernel file")
        ctx.kernel_file.write_text(kernels[best][1])
        log.append({"event": "chosen", "candidate": best, "parameters": kernels[best][0]})
        return Outcome(CANDIDATE_READY, f"best of {len(kernels)} kernels in {len(trials)} trials", usage, log)


def cards_for(ctx: EpisodeContext, idea: Idea) -> list[str]:
    """Ids of the wiki's cards for the top bottleneck that are nearest to an idea. Raises InputError for a bad wiki."""
    words = f"{idea.category} {idea.recipe.get('template', '').replace('_', ' ')} {idea.hypothesis}"
    family = getattr(ctx.operator, "family", None)
    return [card["id"] for card in cite.for_plan(ctx.specs, ctx.profile, family, words, ctx.config)]


def proposals(ctx: EpisodeContext, recipe: Mapping[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """(parameters, kernel text) of every kernel an idea stands for. Raises KernelwrightError when there is none."""
    settings = ctx.config["agents"]["search"]
    framework = str(ctx.specs["framework"])
    if recipe.get("source") == "inductor":
        from kernelwright.search import inductor

        text = inductor.lower(ctx.operator, ctx.workloads, framework, str(ctx.specs["mode"]))
        return [({}, with_recipe(text, {"source": "inductor"}))]
    if recipe.get("source") not in ("template", "retune"):
        raise KernelwrightError(f"plan recipe {recipe.get('source')!r}: expected template, inductor or retune")
    template = templates.get(recipe["template"])
    facts = Facts.from_json(recognise.cached(ctx.operator, framework, ctx.campaign.root / "cache")["facts"])
    order = space.walk(template.SPACE, f"{settings['seed']}/{ctx.bucket}", centre=recipe.get("parameters"))
    done = attempts(recipe, ctx.dropout) * settings["trials"]
    sets = list(islice(order, done, done + settings["trials"]))
    base = {"source": "template", "template": template.NAME}
    return [(p, with_recipe(template.render(facts, recipe["semantics"], p), {**base, "parameters": p})) for p in sets]


def with_recipe(text: str, recipe: Mapping[str, Any]) -> str:
    """The kernel text with its recipe as a literal, which a later retuning reads."""
    return f"{text.rstrip()}\n\nRECIPE = {dict(recipe)!r}\n"


def compete(
    ctx: EpisodeContext, kernels: list[tuple[dict[str, Any], str]], folder: Path
) -> tuple[int | None, list[halving.Trial]]:
    """Successive halving of the kernels through the judge; progress on stderr."""
    judge = ctx.judge
    if judge is None:
        raise ValueError("the candidate step needs a judge")
    settings = ctx.config["agents"]["search"]
    files = []
    for index, (_, text) in enumerate(kernels):
        files.append(folder / f"trial_{index:02d}" / "kernel.py")
        files[-1].parent.mkdir()
        files[-1].write_text(text)
    judge_settings = ctx.config["judge"]
    rounds = halving.rungs(
        len(kernels), settings["finalists"], by_weight(ctx), judge_settings["samples"], judge_settings["seeds"]
    )

    def measure(index: int, rung: halving.Rung) -> halving.Trial:
        verdict = judge(files[index], rung.workloads, rung.samples, rung.seeds)
        score, reason = score_of(verdict)
        facts = {"status": verdict["status"], "sentence": verdict["sentence"], "seconds": verdict["duration_s"]}
        return halving.Trial(index, rung.index, score, reason, facts)

    def report(line: str) -> None:
        print(f"search {ctx.bucket} v{ctx.version:03d}: {line}", file=sys.stderr, flush=True)

    return halving.run(range(len(kernels)), rounds, measure, report)


def score_of(verdict: Mapping[str, Any]) -> tuple[float | None, str | None]:
    """(geomean speedup over the incumbent, None) of a correct kernel, (None, reason code) of one that drops out."""
    geomean = (verdict.get("timing") or {}).get("geomean") or {}
    usable = verdict["status"] == "accepted" or verdict["reason"] in NOT_FASTER
    if usable and "incumbent" in geomean:
        return float(geomean["incumbent"]["value"]), None
    return None, str(verdict["reason"] or "no timing")


def by_weight(ctx: EpisodeContext) -> list[str]:
    """The bucket's workloads, most representative first: largest, smallest, then alternating inwards by bytes moved."""
    ordered = sorted(ctx.workloads, key=lambda key: (_bytes(ctx.specs["workloads"].get(key)), key))
    found: list[str] = []
    while ordered:
        found.append(ordered.pop())
        if ordered:
            found.append(ordered.pop(0))
    return found


def _bytes(workload: Mapping[str, Any] | None) -> int:
    traffic = (workload or {}).get("traffic") or {}
    return int(traffic.get("read_bytes") or 0) + int(traffic.get("write_bytes") or 0)


def _metric(profile: Mapping[str, Any], name: str) -> dict[str, Any]:
    metric = profile["metrics"][name]
    return {"value": metric["value"], "unit": metric["unit"]}


def _log_line(trial: halving.Trial, kernels: list[tuple[dict[str, Any], str]]) -> dict[str, Any]:
    return {
        "event": "trial",
        "candidate": trial.candidate,
        "round": trial.rung,
        "score": trial.score,
        "reason": trial.reason,
        "parameters": kernels[trial.candidate][0],
        **trial.facts,
    }


AGENT = SearchAgent()
