"""Production mode shows ranges and opaque names, and the prompt holds no exact size of a workload."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from kernelwright import artifacts
from kernelwright.agents import disguise, lessons, prompt
from kernelwright.errors import InputError

spec = importlib.util.spec_from_file_location("context_files", Path(__file__).parent / "context_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)

PLAN = {"hypothesis": "h", "change": "c", "category": "other"}


def sized(rows):
    return {**files.workload(10), "input_kwargs": {"rows": rows}, "axes": {"rows": rows, "hidden": 4096}}


SPECS = {
    **files.SPECS,
    "mode": "production",
    "workloads": {"w_31": sized(31), "w_2047": sized(2047), "w_12": sized(12)},
}


def context(tmp_path, **changes):
    facts = {"specs": SPECS, "workloads": ("w_31", "w_2047"), **changes}
    return files.context(tmp_path, **facts)


def test_ranges_are_powers_of_two_around_all_workloads():
    assert disguise.ranges(SPECS["workloads"]) == {"rows": "8 to 2048", "hidden": "2048 to 8192, multiples of 16"}
    assert disguise.ranges({"a": {"axes": {"n": 0}}, "b": {"axes": {"n": 1}}}) == {"n": "0 to 1"}


def test_names_are_replaced_and_found_again():
    names = disguise.Names(SPECS, "salt")
    body = {"w_31": "w_31: slow", "other": ["latency_us.w_2047", "w_310"]}
    shown = names.show(body)
    assert "w_31" not in shown and shown["other"][1] == "w_310" and "w_2047" not in json.dumps(shown)
    assert names.reveal(shown) == body
    assert disguise.Names({**SPECS, "mode": "leaderboard"}, "salt").show(body) == body
    assert disguise.Names(SPECS, "other salt").shown != names.shown


def test_the_prompt_of_production_mode_has_no_size(tmp_path):
    memory = {"version": 1, "outcome": "rejected", "lesson": "tile: w_31 (31, 4096) is wrong", "change": "tile",
              "hypothesis": "h", "reason": "wrong_values"}  # fmt: skip
    metrics = {"latency_us.w_31": {"value": 1.2345, "unit": "us"}, "latency_us": {"value": 31.4159, "unit": "us"}}
    ctx = context(tmp_path, memories=[memory], profile={"metrics": metrics, "bottlenecks": []})
    for page in ("session_plan", "session_candidate", "session_review", "plan", "candidate"):
        text = prompt.render(ctx, page, PLAN)
        for secret in ("w_31", "2047", "1.2345", "31.4", "{'rows'"):
            assert secret not in text, (page, secret)
        assert "rows: 8 to 2048" in text and "tile: rejected, wrong_values" in text
    assert "{'rows': 31}" in prompt.render(context(tmp_path, specs={**SPECS, "mode": "leaderboard"}), "plan")


def test_an_operators_own_problem_is_shown_instead(tmp_path):
    ctx = context(tmp_path)
    path = ctx.operator.directory / disguise.GIVEN
    path.write_text('{"axes": {"rows": "any number of tokens"}}')
    assert disguise.problem(ctx, disguise.names_of(ctx))["ranges"] == {"rows": "any number of tokens"}
    path.write_text('{"axes": {"rows": 31}}')
    with pytest.raises(InputError, match=r"agent_problem\.json"):
        disguise.problem(ctx, disguise.names_of(ctx))


def test_files_that_name_workloads_are_taken_away(tmp_path):
    folder = tmp_path / "operator"
    folder.mkdir()
    for name in ("reference.py", "input.py", "shapes.json", "operator.yaml", "README.md"):
        (folder / name).write_text("")
    disguise.hide_files(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["input.py", "reference.py"]


def test_lessons_are_a_bounded_choice_with_the_last_journals(tmp_path):
    outcomes = ["accepted" if version % 5 == 0 else "rejected" for version in range(1, 41)]
    memories = [{"version": number + 1, "outcome": outcome, "lesson": "x" * 999, "change": "c", "hypothesis": "h",
                 "reason": None} for number, outcome in enumerate(outcomes)]  # fmt: skip
    ctx = files.context(tmp_path, memories=memories)
    journal = {"handoff": {"journal": [{"idea": "i", "result": "r"}] * 20}}
    artifacts.write_text(ctx.campaign.version_dir("b00", 40) / "candidate" / "usage.json", json.dumps(journal))
    found = lessons.shown(ctx, disguise.names_of(ctx))
    assert len(found) == lessons.MOST and sum(one["outcome"] == "accepted" for one in found) == lessons.MOST_ACCEPTED
    assert len(found[-1]["journal"]) == lessons.MOST_ENTRIES and len(found[-1]["lesson"]) == lessons.LONGEST
