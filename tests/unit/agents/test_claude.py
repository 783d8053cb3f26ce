"""Claude Code's events: tokens from messages until the result comes, failures by is_error and not by subtype."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kernelwright.agents.claude import Claude, ClaudeReader
from kernelwright.agents.sessions.adapter import Launch, Settings
from kernelwright.agents.sessions.record import Tokens

USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 1}
MODEL = {"inputTokens": 100, "outputTokens": 40, "cacheReadInputTokens": 300, "cacheCreationInputTokens": 20}


def start(key, parent=None):
    message = {"id": key, "usage": USAGE}
    return {
        "type": "stream_event",
        "event": {"type": "message_start", "message": message},
        "parent_tool_use_id": parent,
    }


def delta(output, parent=None):
    event = {"type": "message_delta", "usage": {"output_tokens": output}}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": parent}


def fed(*events, resumed=False):
    reader = ClaudeReader(resumed)
    for event in events:
        reader.feed(event)
    return reader


def test_tokens_of_running_messages_are_summed_each_with_its_last_output():
    reader = fed(start("a"), delta(40), start("b"), start("sub", "toolu"), delta(7, "toolu"), delta(50))
    assert reader.tokens == Tokens(3 * 420, 900, 60, 97)
    assert reader.turns == 3


def test_the_result_counts_all_models_and_broken_streams():
    result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "result": "DONE",
              "total_cost_usd": 0.5, "usage": USAGE, "modelUsage": {"one": MODEL, "two": MODEL}}  # fmt: skip
    reader = fed(result)
    assert reader.tokens == Tokens(840, 600, 40, 80)
    assert (reader.cost_usd, reader.text, reader.failure, reader.finished) == (0.5, "DONE", None, True)


def test_a_resumed_run_counts_its_own_tokens():
    result = {
        "type": "result",
        "is_error": False,
        "usage": USAGE,
        "modelUsage": {"one": {**MODEL, "inputTokens": 9999}},
    }
    assert fed(result, resumed=True).tokens == Tokens(420, 300, 20, 1)
    since = {**result, "model_usage_since_last_result": {"one": MODEL}}
    assert fed(since, resumed=True).tokens == Tokens(420, 300, 20, 40)


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"api_error_status": 500, "result": "API Error: 500"}, "server"),
        ({"api_error_status": 429, "result": "x"}, "rate_limit"),
        ({"api_error_status": 401, "result": "Invalid API key"}, "auth"),
        ({"api_error_status": 400, "result": "Prompt is too long"}, "context_overflow"),
        ({"api_error_status": None, "result": "API returned an empty or malformed response (HTTP 200)"}, "network"),
        ({"subtype": "error_during_execution", "errors": ["No conversation found with id"]}, "unknown"),
    ],
)
def test_an_error_is_named_although_subtype_says_success(facts, kind):
    reader = fed({"type": "result", "subtype": "success", "is_error": True, **facts})
    assert reader.failure.kind == kind


@pytest.mark.parametrize(
    ("subtype", "kind"), [("error_max_turns", "turn_budget"), ("error_max_budget_usd", "cost_budget")]
)
def test_the_clis_own_limits(subtype, kind):
    assert fed({"type": "result", "subtype": subtype, "is_error": True}).failure.kind == kind


def test_parts_of_messages_are_not_kept_and_tool_calls_are_told():
    call = {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]},
    }
    reader = fed(call)
    assert reader.last_tool == "Bash ls"
    assert reader.describe(call) == "> Bash ls"
    assert reader.keeps(call) and not reader.keeps(start("a"))


def test_settings_lie_in_a_file_since_arguments_can_be_read_by_others(tmp_path):
    settings = Settings(settings={"apiKeyHelper": "secret"}, model="opus")
    argv = Claude().argv(Launch("do it", "id", settings, tmp_path, mcp=["python", "mcp.py"]))
    assert "secret" not in " ".join(argv) and argv[-2:] == ["--", "do it"]
    assert json.loads((tmp_path / "settings.json").read_text()) == {"apiKeyHelper": "secret"}
    assert (tmp_path / "settings.json").stat().st_mode & 0o077 == 0
    assert argv[argv.index("--session-id") + 1] == "id"
    again = Claude().argv(Launch("go on", "id", Settings(), tmp_path, resume=True))
    assert "--session-id" not in again and again[again.index("--resume") + 1] == "id"


def test_tokens_are_recovered_from_the_session_file(tmp_path):
    folder = tmp_path / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    lines = [{"type": "assistant", "message": {"id": "a", "usage": USAGE}},
             {"type": "assistant", "message": {"id": "a", "usage": {**USAGE, "output_tokens": 40}}},
             {"type": "user", "message": {}}]  # fmt: skip
    (folder / "id.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"type": "assis')
    environment = {"HOME": str(tmp_path)}
    assert Claude().recovered("id", environment, Path("/work")) == Tokens(420, 300, 20, 40)
    assert Claude().recovered("other", environment, Path("/work")) is None
