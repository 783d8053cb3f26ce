"""The search agent's order of ideas, its elimination by memories and its competition, with a judge of fixed answers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from kernelwright.agents import search
from kernelwright.errors import KernelwrightError
from kernelwright.plan import check_evidence

spec = importlib.util.spec_from_file_location("context_files", Path(__file__).parent / "context_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)

MATCHES = [{"template": "row_norm", "semantics": {"x": "x"}, "error": 0.0}]


@pytest.fixture
def recognised(monkeypatch):
    monkeypatch.setattr(search.recognise, "cached", lambda *_: {"facts": {}, "matches": MATCHES})


def memory(recipe):
    return {"recipe": recipe, "outcome": "rejected"}


def test_templates_come_first_then_inductor(tmp_path):
    found = search.ideas(MATCHES, "cpp", "memory", tmp_path / "none.py", 0)
    assert [idea.recipe["source"] for idea in found] == ["template", "inductor"]


@pytest.mark.parametrize(("compiled", "bound", "tried"), [
    (0.5, "memory", False), (0.95, "memory", True), (0.5, "launch", True), (None, "memory", True),
])  # fmt: skip
def test_the_lowering_is_not_tried_where_torch_compile_is_far_slower(tmp_path, compiled, bound, tried):
    found = search.ideas(MATCHES, "cpp", bound, tmp_path / "none.py", 0, compiled)
    assert ("inductor" in [idea.recipe["source"] for idea in found]) is tried


def test_a_template_that_acts_on_the_top_bottleneck_comes_before_one_that_does_not(tmp_path):
    both = [*MATCHES, {"template": "topk_softmax", "semantics": {}, "error": 0.0}]
    compute = search.ideas(both, "cpp", "compute", tmp_path / "none.py", 0)
    memory_bound = search.ideas(both, "cpp", "memory", tmp_path / "none.py", 0)
    assert [idea.recipe.get("template") for idea in compute][:2] == ["topk_softmax", "row_norm"]
    assert [idea.recipe.get("template") for idea in memory_bound][:2] == ["row_norm", "topk_softmax"]


def test_an_incumbent_of_a_template_is_retuned_last_and_once_per_version(tmp_path):
    kernel = tmp_path / "kernel.py"
    recipe = {"source": "template", "template": "row_norm", "parameters": {"unroll": 2}}
    kernel.write_text(search.with_recipe("raise SystemExit('never run')", recipe))
    assert search.read_recipe(kernel) == recipe
    found = search.ideas(MATCHES, "cpp", None, kernel, 3)
    assert found[-1].recipe["source"] == "retune"
    assert found[-1].recipe["parameters"] == {"unroll": 2}
    tried = [memory(idea.recipe) for idea in found]
    assert search.pick(found, tried) is None
    again = search.ideas(MATCHES, "cpp", None, kernel, 4)
    assert search.pick(again, tried).recipe["of"] == 4


def test_a_dropped_idea_comes_again_only_with_parameter_sets_that_were_not_measured(tmp_path):
    found = search.ideas(MATCHES, "cpp", None, tmp_path / "none.py", 0)
    dropped = [memory(idea.recipe) for idea in found]
    assert search.pick(found, [], dropped, trials=4).recipe["source"] == "template"
    everything = search.space.size(search.templates.get("row_norm").SPACE)
    assert search.pick(found, [], dropped, trials=everything) is None


@pytest.mark.parametrize("text", ["not python (", "RECIPE = open('x')", "RECIPE = 3", "x = 1"])
def test_a_kernel_without_a_literal_recipe_has_none(tmp_path, text):
    (tmp_path / "kernel.py").write_text(text)
    assert search.read_recipe(tmp_path / "kernel.py") is None


def test_the_plan_cites_the_top_bottleneck_as_the_profile_has_it(tmp_path, recognised):
    ctx = files.context(tmp_path)
    plan = search.AGENT.plan(ctx)
    check_evidence(plan, ctx.profile)
    assert (plan["status"], plan["recipe"]["template"], plan["predicted_gain"]) == ("planned", "row_norm", None)
    assert [entry["metric"] for entry in plan["evidence"]] == ["parallel_efficiency", "threads"]
    assert plan["usage"]["input_tokens"] == 0


def test_the_plan_cites_cards_for_its_bottleneck(tmp_path, recognised):
    from kernelwright.knowledge.wiki import cards, cite

    plan = search.AGENT.plan(files.context(tmp_path))
    assert 1 <= len(plan["wiki"]) <= cite.MOST
    for path in cite.files(plan["wiki"], {}).values():
        card = cards.read(path)
        assert "occupancy" in card.facts["bounds"]
        assert "any" in card.scope("vendors") or "cpu" in card.scope("vendors")


def test_with_everything_tried_the_plan_is_blocked_with_a_fixed_text(tmp_path, recognised):
    memories = [memory({"source": "template", "template": "row_norm"}), memory({"source": "inductor"})]
    plan = search.AGENT.plan(files.context(tmp_path, memories=memories))
    assert (plan["status"], plan["blocker"]) == ("blocked", search.NOTHING_LEFT)


def test_workloads_are_ordered_largest_smallest_and_inwards(tmp_path):
    assert search.by_weight(files.context(tmp_path)) == ["large", "small", "middle"]


def verdict(status, reason, ratio):
    timing = {"geomean": {"incumbent": {"value": ratio}}} if ratio else None
    return {"status": status, "reason": reason, "timing": timing, "sentence": "A sentence.", "duration_s": 0.1}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (verdict("accepted", None, 1.5), (1.5, None)),
        (verdict("rejected", "not_faster", 0.9), (0.9, None)),
        (verdict("rejected", "below_floor", 9.0), (None, "below_floor")),
        (verdict("rejected", "wrong_values", None), (None, "wrong_values")),
        (verdict("failed", "compile_error", None), (None, "compile_error")),
    ],
)
def test_only_credible_times_of_correct_kernels_score(given, expected):
    assert search.score_of(given) == expected


def session(tmp_path, monkeypatch, answers):
    """A candidate session over kernels `answers` -> verdict, keyed by the text of the kernel."""
    kernels = [({"n": index}, text) for index, text in enumerate(answers)]
    monkeypatch.setattr(search, "proposals", lambda ctx, recipe: kernels)
    calls = []

    def judge(kernel, workloads, samples, seeds):
        calls.append((kernel.read_text(), workloads, samples, seeds))
        return answers[kernel.read_text()]

    ctx = files.context(tmp_path, judge=judge)
    return ctx, search.AGENT.candidate(ctx, {"recipe": {"source": "template"}}), calls


def test_the_fastest_correct_kernel_becomes_the_candidate(tmp_path, monkeypatch):
    answers = {
        "slow": verdict("rejected", "not_faster", 0.8), "wrong": verdict("rejected", "wrong_values", None),
        "fast": verdict("accepted", None, 2.0), "broken": verdict("failed", "compile_error", None),
    }  # fmt: skip
    ctx, outcome, calls = session(tmp_path, monkeypatch, answers)
    assert (outcome.outcome, ctx.kernel_file.read_text()) == ("candidate_ready", "fast")
    assert outcome.usage["trials"] == len(calls) == 4 + 2
    assert calls[-1][1:] == (("large", "small", "middle"), 10, 3)
    reasons = {entry["reason"] for entry in outcome.log if entry["event"] == "trial"}
    assert reasons == {None, "wrong_values", "compile_error"}
    assert outcome.log[-1] == {"event": "chosen", "candidate": 2, "parameters": {"n": 2}}


def test_when_every_kernel_drops_out_the_session_failed_and_leaves_the_file(tmp_path, monkeypatch):
    answers = {"a": verdict("failed", "compile_error", None), "b": verdict("failed", "compile_error", None)}
    ctx, outcome, _ = session(tmp_path, monkeypatch, answers)
    assert outcome.outcome == "failed"
    assert "2 times compile_error" in outcome.note
    assert ctx.kernel_file.read_text() == "# incumbent\n"


def test_a_refused_lowering_is_a_pivot_with_its_reason(tmp_path, monkeypatch):
    def refuse(ctx, recipe):
        raise KernelwrightError("the reference traces into 2 graphs, expected one")

    monkeypatch.setattr(search, "proposals", refuse)
    outcome = search.AGENT.candidate(files.context(tmp_path), {"recipe": {"source": "inductor"}})
    assert (outcome.outcome, outcome.note) == ("pivot", "the reference traces into 2 graphs, expected one")


def test_an_unknown_recipe_is_named(tmp_path):
    with pytest.raises(KernelwrightError, match="'magic'"):
        search.proposals(files.context(tmp_path), {"source": "magic"})
