"""stop.walk: which rule ends a bucket's search, from files alone."""

from __future__ import annotations

import json

import pytest
from campaign_files import POLICY, SHA, USAGE, add_version, campaign, incumbent, verdict
from kernelwright import artifacts, stop


def test_empty_bucket_goes_on_from_the_baseline(tmp_path):
    made = campaign(tmp_path)
    state = stop.walk(made, "b00", POLICY)
    assert (state.last, state.stopped, state.reason, state.stall) == (0, False, None, 0)
    assert state.incumbent == incumbent(made)


def test_incumbent_is_the_last_accepted_version(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1, "accepted")
    add_version(made, 2, incumbent=incumbent(made, 1))
    state = stop.walk(made, "b00", POLICY)
    assert state.incumbent["version"] == 1 and state.last == 2 and state.stall == 1 and not state.stopped


def test_before_hides_later_versions(tmp_path):
    made = campaign(tmp_path)
    for version in (1, 2, 3):
        add_version(made, version, "accepted")
    state = stop.walk(made, "b00", POLICY, before=2)
    assert state.last == 1 and state.incumbent["version"] == 1


def test_max_stall_counts_only_versions_in_a_row(tmp_path):
    made = campaign(tmp_path)
    for version, outcome in enumerate(["rejected", "rejected", "accepted", "failed", "rejected", "rejected"], 1):
        add_version(made, version, outcome)
    state = stop.walk(made, "b00", POLICY)
    assert state.reason == "max_stall: 3 versions without an accepted one" and state.last == 6


def test_max_iters(tmp_path):
    made = campaign(tmp_path)
    for version in (1, 2, 3):
        add_version(made, version, "accepted")
    state = stop.walk(made, "b00", {**POLICY, "max_iters": 2})
    assert state.reason == "max_iters: 2 versions" and state.last == 2


def test_target_needs_an_accepted_version_with_a_known_floor(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1, "rejected", share_of_floor=0.99)
    add_version(made, 2, "accepted", share_of_floor=None)
    assert not stop.walk(made, "b00", POLICY).stopped
    add_version(made, 3, "accepted", share_of_floor=0.95)
    state = stop.walk(made, "b00", POLICY)
    assert state.reason == "target_utilization: v003 is at 0.950 of the floor, target 0.9"
    assert not stop.walk(made, "b00", {**POLICY, "target_utilization": None}).stopped


def test_same_blocker_twice_in_a_row(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1, "blocked", blocker="no idea")
    add_version(made, 2, "blocked", blocker="another")
    assert not stop.walk(made, "b00", POLICY).stopped
    add_version(made, 2, "blocked", blocker="no idea")
    assert stop.walk(made, "b00", POLICY).reason == "max_repeated_blockers: 2 times in a row: no idea"


def test_token_budget_counts_the_whole_campaign(tmp_path):
    made = campaign(tmp_path, buckets=2)
    add_version(made, 1, bucket="b01", tokens=60)
    add_version(made, 1, tokens=40)
    assert not stop.walk(made, "b00", {**POLICY, "token_budget": 101}).stopped
    state = stop.walk(made, "b00", {**POLICY, "token_budget": 100})
    assert state.reason == "token_budget: 100 of 100 tokens" and state.last == 1 and state.tokens == 40


def test_lower_budget_drops_no_version(tmp_path):
    made = campaign(tmp_path)
    for version in (1, 2):
        add_version(made, version, "accepted")
    assert stop.walk(made, "b00", {**POLICY, "token_budget": 1}).last == 2


def test_tokens_spent_on_another_problem_do_not_count(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1, tokens=60)
    artifacts.write_text(made.specs, '{"edited": true}')
    assert stop.campaign_tokens(made) == 0


def test_unknown_tokens_are_unknown(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1, tokens=None)
    assert stop.walk(made, "b00", POLICY).tokens is None
    assert stop.session_tokens(USAGE, {**USAGE, "output_tokens": None}) is None
    assert stop.session_tokens(USAGE, USAGE) == 14


def test_pass_through_ends_the_walk(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1)
    folder = made.version_dir("b00", 2)
    stop.write_pass_through([folder / name for name in stop.STEP_OUTPUTS["verify"]], "max_stall: 3 versions")
    assert stop.walk(made, "b00", POLICY).last == 1


def test_verdict_without_memory_is_read_itself(tmp_path):
    made = campaign(tmp_path)
    body = verdict("accepted", None, 1.5, (0.5, 0.72))
    body["incumbent"] = {"version": 1, "kernel_path": "x", "kernel_sha256": SHA}
    path = made.verdict("b00", 1)
    artifacts.write_text(path, json.dumps({"kind": "verdict", **body}))
    facts = stop.walk(made, "b00", POLICY).versions[0]
    assert facts.speedup == 1.5 and facts.share_of_floor == pytest.approx(0.6)


@pytest.mark.parametrize("shares", [(), (0.5, None), (0.5, 0.0)])
def test_share_of_floor_is_unknown_when_one_is(shares):
    assert stop.share_of_floor(verdict("accepted", None, 1.5, shares)) is None


def test_step_after_the_stop_writes_placeholders(tmp_path):
    made = campaign(tmp_path)
    for version in (1, 2, 3):
        add_version(made, version)
    assert stop.stopped_before(made, "b00", 3, POLICY, "plan") is None
    assert stop.stopped_before(made, "b00", 4, POLICY, "candidate") is not None
    folder = made.version_dir("b00", 4) / "candidate"
    assert artifacts.is_pass_through(folder / "usage.json")
    assert (folder / "kernel.py").read_text().startswith("# not run: max_stall")
    assert stop.stopped_before(made, "b00", 5, POLICY, "verify") is not None
