"""Codex's events: tokens at the end of a good turn alone, else from its session file."""

from __future__ import annotations

import json

import pytest
from kernelwright.agents.codex import Codex, CodexReader
from kernelwright.agents.sessions.adapter import Launch, Settings
from kernelwright.agents.sessions.record import Tokens

USAGE = {"input_tokens": 400, "cached_input_tokens": 300, "output_tokens": 40, "reasoning_output_tokens": 10}


def fed(*events):
    reader = CodexReader()
    for event in events:
        reader.feed(event)
    return reader


def failed(text):
    return {"type": "turn.failed", "error": {"message": text}}


def test_a_good_turn():
    warning = {"type": "item.completed", "item": {"type": "error", "message": "no metadata"}}
    command = {
        "type": "item.completed",
        "item": {"type": "command_execution", "command": "ls", "aggregated_output": "a"},
    }
    end = {"type": "turn.completed", "usage": USAGE}
    reader = fed({"type": "thread.started", "thread_id": "t"}, warning, command, end)
    assert (reader.session_id, reader.tokens, reader.failure) == ("t", Tokens(400, 300, 0, 40, 10), None)
    assert (reader.last_tool, reader.describe(command), reader.complete) == ("shell ls", "> ls\n< a", True)


@pytest.mark.parametrize(
    ("text", "kind", "complete"),
    [
        ("unexpected status 401 Unauthorized: invalid x-api-key", "auth", True),
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limit", True),
        ("We're currently experiencing high demand", "server", True),
        ("Codex ran out of room in the model's context window.", "context_overflow", True),
        ("stream disconnected before completion", "network", False),
    ],
)
def test_a_failed_turn_is_named(text, kind, complete):
    reader = fed(failed(text))
    assert (reader.failure.kind, reader.complete, reader.tokens) == (kind, complete, None)


def test_a_stream_that_broke_and_went_on_leaves_figures_incomplete():
    broken = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected before completion)"}
    reader = fed(broken, {"type": "turn.completed", "usage": USAGE})
    assert reader.failure is None and not reader.complete


def test_tokens_are_recovered_from_answers_and_not_from_the_estimate_of_an_overflow(tmp_path):
    folder = tmp_path / "sessions" / "2026" / "11" / "30"
    folder.mkdir(parents=True)
    count = {
        "type": "event_msg",
        "payload": {"type": "token_count", "info": {"total_token_usage": {"input_tokens": 9}}},
    }
    record = {"type": "token_usage_record", "payload": {"thread_token_usage": USAGE}}
    path = folder / "rollout-2026-11-30T00-00-00-t.jsonl"
    path.write_text("\n".join(map(json.dumps, [record, count])))
    environment = {"CODEX_HOME": str(tmp_path), "HOME": "/nowhere"}
    assert Codex().recovered("t", environment, tmp_path) == Tokens(400, 300, 0, 40, 10)
    path.write_text(json.dumps(count))
    assert Codex().recovered("t", environment, tmp_path) == Tokens(9)
    assert Codex().recovered(None, environment, tmp_path) is None


def test_a_resumed_thread_is_named_before_the_prompt(tmp_path):
    argv = Codex().argv(Launch("go on", "t", Settings(effort="high"), tmp_path, mcp=["python", "mcp.py"], resume=True))
    assert argv[:3] == ["codex", "exec", "resume"] and argv[-2:] == ["t", "go on"]
    assert 'model_reasoning_effort="high"' in argv and 'mcp_servers.kernelwright.command="python"' in argv
