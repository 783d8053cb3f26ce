"""pi's events: its exit code says nothing, message_end says all."""

from __future__ import annotations

import json

import pytest
from kernelwright.agents.pi import Pi, PiReader
from kernelwright.agents.sessions.adapter import Launch, Settings
from kernelwright.agents.sessions.record import Tokens

USAGE = {"input": 100, "output": 40, "cacheRead": 300, "cacheWrite": 20, "cost": {"total": 0.25}}


def said(text="DONE", usage=USAGE, **facts):
    content = [{"type": "text", "text": text}] if text else []
    return {"type": "message_end", "message": {"role": "assistant", "content": content, "usage": usage, **facts}}


def fed(*events):
    reader = PiReader()
    for event in events:
        reader.feed(event)
    return reader


def test_each_message_counts_once():
    update = {**said(), "type": "message_update"}
    reader = fed(
        {"type": "session", "id": "s"}, update, said(), said(), {**said(), "type": "turn_end"}, {"type": "agent_end"}
    )
    assert (reader.session_id, reader.tokens, reader.cost_usd) == ("s", Tokens(840, 600, 40, 80), 0.5)
    assert (reader.text, reader.finished, reader.failure) == ("DONE", True, None)
    assert not reader.keeps(update) and reader.keeps(said())


def test_a_failed_message_is_the_failure_until_a_retry_succeeds():
    broken = said("", stopReason="error", errorMessage="Anthropic stream ended before message_stop")
    reader = fed(broken, {"type": "agent_end", "willRetry": True})
    assert reader.failure.kind == "network" and not reader.finished and not reader.complete
    reader.feed(said())
    assert reader.failure is None and not reader.complete


@pytest.mark.parametrize(
    ("text", "kind"), [("401 {...}", "auth"), ("429 rate limit", "rate_limit"), ("500 x", "server")]
)
def test_errors_by_kind(text, kind):
    assert fed(said("", stopReason="error", errorMessage=text)).failure.kind == kind


def test_an_answer_of_nothing_is_a_malformed_stream():
    reader = fed(said("", {"input": 0, "output": 0}, stopReason="stop"))
    assert reader.failure.kind == "network" and not reader.complete


def test_tokens_are_recovered_from_the_session_file(tmp_path):
    folder = tmp_path / ".pi" / "agent" / "sessions" / "--work--"
    folder.mkdir(parents=True)
    line = {"type": "message", "message": {"role": "assistant", "usage": USAGE}}
    (folder / "2026_s.jsonl").write_text(json.dumps(line) + "\n" + json.dumps({"type": "session"}))
    assert Pi().recovered("s", {"HOME": str(tmp_path)}, tmp_path) == Tokens(420, 300, 20, 40)


def test_arguments(tmp_path):
    settings = Settings(model="m", provider="p", effort="low", args=["--no-skills"])
    argv = Pi().argv(Launch("go on", "s", settings, tmp_path, resume=True))
    assert argv == ["pi", "--mode", "json", "-p", "--session", "s", "--provider", "p", "--model", "m", "--thinking", "low",
                    "--no-skills", "go on"]  # fmt: skip
