"""Reviews are read as data, and a reviewer that cannot be asked is absent."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from kernelwright.agents.base import no_model_usage, unknown_usage
from kernelwright.agents.sessions import review
from kernelwright.errors import InputError

spec = importlib.util.spec_from_file_location("context_files", Path(__file__).parents[1] / "context_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)


def test_a_review_is_bounded(tmp_path):
    (tmp_path / "review.json").write_text(json.dumps({"verdict": "object", "reasons": ["x" * 5000] * 50}))
    found = review.read(tmp_path)
    assert (found["verdict"], len(found["reasons"]), len(found["reasons"][0])) == ("object", 10, 1000)


@pytest.mark.parametrize(
    "body", [{"verdict": "yes", "reasons": []}, {"verdict": "agree"}, {"verdict": "agree", "reasons": [1]}]
)
def test_a_wrong_review_is_refused(tmp_path, body):
    (tmp_path / "review.json").write_text(json.dumps(body))
    with pytest.raises(InputError, match=r"review\.json"):
        review.read(tmp_path)


def test_an_agent_without_sessions_is_absent_and_spent_nothing(tmp_path):
    found = review.asked(files.context(tmp_path), "search", {})
    assert (found["verdict"], found["usage"]["input_tokens"]) == ("absent", 0)


def test_no_reviewers_no_reviews(tmp_path):
    assert review.collect(files.context(tmp_path), {}) == []


def test_tokens_of_reviewers_are_the_plans_and_unknown_stays_unknown():
    own = {**no_model_usage(1.0), "input_tokens": 5, "output_tokens": 1}
    known = {"usage": {**own, "sessions": 1}}
    assert review.add_usage(own, [known, known])["input_tokens"] == 15
    assert review.add_usage(own, [{"usage": unknown_usage(1.0)}])["input_tokens"] is None
