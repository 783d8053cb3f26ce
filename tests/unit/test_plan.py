from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
from kernelwright import artifacts, plan
from kernelwright.agents.base import no_model_usage
from kernelwright.errors import InputError, KernelwrightError

spec = importlib.util.spec_from_file_location("context_files", Path(__file__).parent / "agents" / "context_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)

GOOD = {"metric": "latency_us", "value": 100.0, "unit": "us"}
BODY = {
    "status": "planned",
    "blocker": None,
    "hypothesis": "fewer passes are faster",
    "category": "fusion",
    "evidence": [GOOD],
    "wiki": [],
    "change": "fuse",
    "predicted_gain": 1.5,
    "usage": no_model_usage(0.1),
}


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({**GOOD, "metric": "speed"}, "metric 'speed' is not in the profile; allowed: latency_us, parallel_efficiency"),
        ({**GOOD, "value": 99.0}, "latency_us: 99.0 us, the profile has 100.0 us"),
        ({**GOOD, "unit": "ms"}, "latency_us: 100.0 ms, the profile has 100.0 us"),
        ({"metric": "share_of_floor", "value": 0.5, "unit": "ratio"}, "the profile has None ratio"),
    ],
)
def test_evidence_that_the_profile_does_not_have_is_named(entry, fault):
    with pytest.raises(InputError, match=fault):
        plan.check_evidence({"evidence": [GOOD, entry]}, files.PROFILE)


def test_evidence_of_an_unknown_value_is_its_null():
    plan.check_evidence(
        {"evidence": [GOOD, {"metric": "share_of_floor", "value": None, "unit": "ratio"}]}, files.PROFILE
    )


def make(tmp_path, monkeypatch, answer):
    def agent_plan(ctx):
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(plan.agents, "get", lambda name: SimpleNamespace(plan=agent_plan))
    return plan.make(files.context(tmp_path), "search", Path("plan.json"))


def test_a_sound_plan_is_kept_and_written(tmp_path, monkeypatch):
    made = make(tmp_path, monkeypatch, BODY)
    assert made == {**BODY, "bucket": "b00", "version": 1, "agent": "search"}
    artifacts.write(tmp_path / "plan.json", "plan", made)
    assert artifacts.read(tmp_path / "plan.json", "plan")["hypothesis"] == "fewer passes are faster"


@pytest.mark.parametrize(
    ("answer", "blocker"),
    [
        (KernelwrightError("the program is gone"), "the program is gone"),
        ({**BODY, "category": "magic"}, "category"),
        ({**BODY, "evidence": [{**GOOD, "value": 1.0}]}, "the profile has 100.0 us"),
        ({**BODY, "wiki": ["no-such-card"]}, "'no-such-card' is no card"),
    ],
)
def test_an_agent_that_cannot_plan_soundly_is_blocked_not_a_failed_job(tmp_path, monkeypatch, answer, blocker):
    made = make(tmp_path, monkeypatch, answer)
    assert made["status"] == "blocked"
    assert blocker in made["blocker"]
    artifacts.write(tmp_path / "plan.json", "plan", made)


def test_the_page_says_what_and_why():
    page = plan.markdown({**BODY, "bucket": "b00", "version": 7, "agent": "search", "dropout": ["an old idea"]})
    for wanted in (
        "# Plan b00 v007: planned",
        "fewer passes are faster",
        "latency_us: 100 us",
        "at most 1.50x",
        "an old idea",
    ):
        assert wanted in page
    blocked = plan.markdown({**plan.blocked("nothing left", "search"), "bucket": "b00", "version": 8})
    assert "is blocked: nothing left." in blocked
