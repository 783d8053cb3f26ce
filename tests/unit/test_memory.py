"""memory: lessons with their numbers, and dropout that can be repeated."""

from __future__ import annotations

import pytest
from campaign_files import CONFIG, SHA, USAGE, add_version, campaign, plan, verdict
from kernelwright import artifacts, memory


def test_no_dropout_before_a_stall(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1)
    memories, dropped = memory.active(made, "b00", 2, CONFIG)
    assert [one["version"] for one in memories] == [1] and dropped == []


def test_dropout_masks_failed_lessons_alone_and_repeats(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1, "accepted")
    for version in (2, 3, 4, 5):
        add_version(made, version)
    memories, dropped = memory.active(made, "b00", 6, CONFIG)
    assert dropped and all(one["outcome"] != "accepted" for one in dropped)
    assert sorted(one["hypothesis"] for one in memories + dropped) == [f"idea {n}" for n in range(1, 6)]
    assert memory.active(made, "b00", 6, CONFIG)[1] == dropped
    draws = {str(memory.active(made, "b00", 6, with_seed(seed))[1]) for seed in range(8)}
    assert len(draws) > 1


def with_seed(seed):
    return {"agents": {"search": {**CONFIG["agents"]["search"], "seed": seed}}}


def test_masked_memories_are_never_read(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1, masked=True)
    assert memory.active(made, "b00", 2, CONFIG) == ([], [])


@pytest.mark.parametrize(
    ("given", "judged", "said"),
    [
        (plan(), verdict("accepted", None, 1.5), "fuse both passes: made it 1.5x (1.4 to 1.6) the incumbent."),
        (plan(), verdict("rejected", "not_faster", 1.01), "1.01x (0.91 to 1.11) the incumbent, below the minimum"),
        (plan(), verdict("rejected", "wrong_values"), "fuse both passes: rejected, wrong_values: A sentence."),
        (plan("blocked", "no idea left"), verdict("failed", "no_candidate"), "Nothing was tried: no idea left."),
    ],
)
def test_lesson_has_the_numbers(given, judged, said):
    assert said in memory.lesson(given, judged)


def test_body_is_a_valid_artifact(tmp_path):
    judged = verdict("accepted", None, 1.5, (0.25, 1.0))
    judged["incumbent"] = {"version": 1, "kernel_path": "b00/v001/candidate/kernel.py", "kernel_sha256": SHA}
    body = memory.body("b00", 1, plan(), {"usage": USAGE}, judged)
    record = artifacts.write(tmp_path / "memory.json", "memory", body)
    assert record["tokens"] == 14 and record["share_of_floor"] == pytest.approx(0.5) and record["speedup"] == 1.5


def test_blocked_plan_is_remembered_as_blocked():
    judged = {**verdict("failed", "no_candidate"), "incumbent": {}}
    body = memory.body("b00", 1, plan("blocked", "no idea left"), {"usage": USAGE}, judged)
    assert body["outcome"] == "blocked" and body["blocker"] == "no idea left"
