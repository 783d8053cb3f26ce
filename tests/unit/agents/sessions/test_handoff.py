"""What a session leaves is data from a stranger."""

from __future__ import annotations

import json
import os

import pytest
from kernelwright.agents.sessions import handoff
from kernelwright.errors import InputError

GOOD = {"outcome": "pivot", "summary": "no", "journal": [{"idea": "a", "result": "b", "kept": False}]}
PLAN = {"hypothesis": "h", "category": "fusion", "evidence": [], "wiki": [], "change": "c", "predicted_gain": 1.5}


def test_a_good_handoff(tmp_path):
    (tmp_path / "handoff.json").write_text(json.dumps(GOOD))
    assert handoff.read(tmp_path) == GOOD


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"), ("[]", "an object is expected"), ("x" * (handoff.LARGEST + 1), "larger than"),
        (json.dumps({**GOOD, "outcome": "accepted"}), "candidate_ready, pivot, blocked"),
        (json.dumps({**GOOD, "speedup": 9}), "unknown key 'speedup'"),
        (json.dumps({**GOOD, "journal": [{"idea": "a"}]}), "missing key 'result'"),
    ],
)  # fmt: skip
def test_a_wrong_handoff_is_named(tmp_path, text, words):
    (tmp_path / "handoff.json").write_text(text)
    with pytest.raises(InputError, match=words):
        handoff.read(tmp_path)


def test_links_pipes_and_nothing(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        handoff.read(tmp_path)
    (tmp_path / "real.json").write_text(json.dumps(GOOD))
    (tmp_path / "handoff.json").symlink_to(tmp_path / "real.json")
    with pytest.raises(InputError, match=r"handoff\.json"):
        handoff.read(tmp_path)
    (tmp_path / "handoff.json").unlink()
    os.mkfifo(tmp_path / "handoff.json")
    with pytest.raises(InputError, match="not a regular file"):
        handoff.read(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"category": "magic"}, "'magic' is not one of fusion"), ({"hypothesis": " "}, "hypothesis: a sentence"),
        ({"predicted_gain": -1}, "predicted_gain: -1"), ({"predicted_gain": True}, "predicted_gain: True"),
        ({"speedup": 3}, "unknown key 'speedup'"),
    ],
)  # fmt: skip
def test_a_wrong_plan_is_named(tmp_path, change, words):
    (tmp_path / "plan.json").write_text(json.dumps({**PLAN, **change}))
    with pytest.raises(InputError, match=words):
        handoff.read_plan(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps({key: PLAN[key] for key in PLAN if key != "wiki"}))
    with pytest.raises(InputError, match="missing key 'wiki'"):
        handoff.read_plan(tmp_path)
