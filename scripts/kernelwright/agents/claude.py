"""Claude Code (`claude`): a session prints one JSON event a line; facts checked with 2.1.332 and 2.1.197."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.agents.sessions.adapter import Adapter, Launch, jsonl
from kernelwright.agents.sessions.coding import CodingAgent
from kernelwright.agents.sessions.reader import Reader
from kernelwright.agents.sessions.record import COST, TURNS, Failure, Tokens, failure


def tokens_of(usage: Mapping[str, Any]) -> Tokens:
    """Tokens of a `usage` object of the Messages API, whose input counts neither cache reads nor writes."""
    cached, written = (int(usage.get(f"cache_{kind}_input_tokens") or 0) for kind in ("read", "creation"))
    sent = int(usage.get("input_tokens") or 0) + cached + written
    return Tokens(sent, cached, written, int(usage.get("output_tokens") or 0))


def tokens_of_models(models: Mapping[str, Mapping[str, Any]]) -> Tokens:
    """Tokens of a `modelUsage` object: all models, subagents included."""
    total = Tokens()
    for usage in models.values():
        cached, written = (int(usage.get(f"cache{kind}InputTokens") or 0) for kind in ("Read", "Creation"))
        sent = int(usage.get("inputTokens") or 0) + cached + written
        thought = int(usage.get("thinkingTokens") or 0)
        total += Tokens(sent, cached, written, int(usage.get("outputTokens") or 0), thought)
    return total


def described(block: Mapping[str, Any]) -> str | None:
    """A content block of the Messages API for a person."""
    if block.get("type") == "text":
        return str(block["text"])
    if block.get("type") == "tool_use":
        given = block.get("input") or {}
        return f"> {block['name']} {given.get('command') or json.dumps(given)}"
    if block.get("type") == "tool_result":
        content = block.get("content")
        if isinstance(content, list):
            content = "".join(str(part.get("text", "")) for part in content)
        return f"< {content}"
    return None


class ClaudeReader(Reader):
    """Until the result comes, tokens are the sum over messages: input at the start of each, output at its end."""

    def __init__(self, resumed: bool = False) -> None:
        super().__init__()
        self.resumed = resumed
        self.messages: dict[str, dict[str, Any]] = {}
        self.current: dict[str | None, str] = {}  # of the main model and of each subagent

    def keeps(self, event: dict[str, Any]) -> bool:
        return event.get("type") != "stream_event"

    def feed(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        self.session_id = event.get("session_id") or self.session_id
        if kind == "system" and event.get("subtype") == "init":
            self.model = event.get("model")
        elif kind == "stream_event":
            self.part(event.get("event") or {}, event.get("parent_tool_use_id"))
        elif kind == "assistant":
            self.spoken(event.get("message") or {}, event.get("error"))
        elif kind == "result":
            self.result(event)

    def describe(self, event: dict[str, Any]) -> str | None:
        if event.get("type") == "result":
            return f"result: {'error: ' if event.get('is_error') else ''}{event.get('result') or ''}"
        message = event.get("message") if event.get("type") in ("assistant", "user") else None
        blocks = message.get("content") if isinstance(message, dict) else None
        found = [described(block) for block in blocks] if isinstance(blocks, list) else []
        return "\n".join(text for text in found if text) or None

    def part(self, event: dict[str, Any], parent: str | None) -> None:
        if event.get("type") == "message_start":
            message = event["message"]
            self.current[parent] = message["id"]
            self.messages[message["id"]] = dict(message.get("usage") or {})
            self.turns += 1
        elif event.get("type") == "message_delta" and parent in self.current:
            self.messages[self.current[parent]].update(event.get("usage") or {})
        else:
            return
        self.tokens = sum(map(tokens_of, self.messages.values()), Tokens())

    def spoken(self, message: dict[str, Any], error: str | None) -> None:
        for block in message.get("content") or []:
            if block.get("type") == "tool_use":
                given = block.get("input") or {}
                self.tool(block["name"], given.get("command") or given.get("file_path") or json.dumps(given))
            elif block.get("type") == "text":
                self.text = block["text"]
        if error:
            self.failure = failure(f"{error}: {self.text}")

    def result(self, event: dict[str, Any]) -> None:
        self.finished = True
        since = event.get("model_usage_since_last_result")
        if since is None and not self.resumed:  # modelUsage is of the whole session, `usage` misses broken streams
            since = event.get("modelUsage")
        if since is not None:
            self.tokens = tokens_of_models(since)
        elif event.get("usage"):
            self.tokens = tokens_of(event["usage"])
        self.cost_usd = event.get("total_cost_usd")
        self.turns = max(self.turns, int(event.get("num_turns") or 0))
        self.text = event.get("result") or self.text
        if not event.get("is_error") and str(event.get("subtype", "success")) == "success":
            self.failure = None
        elif event.get("subtype") == "error_max_turns":
            self.failure = Failure(TURNS, "the CLI's own limit of turns")
        elif event.get("subtype") == "error_max_budget_usd":
            self.failure = Failure(COST, "the CLI's limit of cost")
        else:  # `subtype` says success even then
            words = self.text or "; ".join(event.get("errors") or []) or str(event.get("subtype"))
            self.failure = failure(words, event.get("api_error_status"))


class Claude(Adapter):
    """Anthropic's CLI; any endpoint that speaks the Messages API through ANTHROPIC_BASE_URL."""

    NAME = PROGRAM = "claude"
    VARIABLES = ("ANTHROPIC_", "CLAUDE_", "AWS_", "GOOGLE_", "CLOUD_ML_REGION", "VERTEX_")
    STATE = (".claude", ".claude.json")
    LOGIN = ("auth", "status")
    INSTALL = "npm install -g @anthropic-ai/claude-code@2.1.332"

    def argv(self, launch: Launch) -> list[str]:
        settings = launch.settings
        words = [self.PROGRAM, "--print", "--verbose", "--output-format", "stream-json", "--include-partial-messages",
                 "--dangerously-skip-permissions"]  # fmt: skip
        words += ["--resume", launch.session_id] if launch.resume else ["--session-id", launch.session_id]
        limit = None if launch.cost_usd is None else str(launch.cost_usd)
        flags = (("--model", settings.model), ("--effort", settings.effort), ("--max-budget-usd", limit))
        for flag, value in flags:
            words += [flag, value] if value else []
        if settings.settings is not None:  # in a file: it may hold secrets
            path = launch.private / "settings.json"
            path.touch(mode=0o600)
            path.write_text(json.dumps(settings.settings))
            words += ["--settings", str(path)]
        if launch.mcp:
            server = {"command": launch.mcp[0], "args": launch.mcp[1:]}
            words.append("--mcp-config=" + json.dumps({"mcpServers": {"kernelwright": server}}))
        return [*words, *settings.args, "--", launch.prompt]

    def extra_environment(self, launch: Launch) -> dict[str, str]:
        return {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"}

    def reader(self, resumed: bool = False) -> Reader:
        return ClaudeReader(resumed)

    def recovered(self, session_id: str | None, environment: Mapping[str, str], folder: Path) -> Tokens | None:
        """Sum over the messages of ~/.claude/projects/<folder>/<id>.jsonl; the last line of a message has its output."""
        root = Path(environment.get("CLAUDE_CONFIG_DIR") or Path(environment["HOME"]) / ".claude")
        found = list((root / "projects").glob(f"*/{session_id}.jsonl")) if session_id else []
        if not found:
            return None
        messages = [line["message"] for line in jsonl(found[0]) if line.get("type") == "assistant"]
        by_id = {message["id"]: message.get("usage") or {} for message in messages if message.get("id")}
        return sum(map(tokens_of, by_id.values()), Tokens())


AGENT = CodingAgent(Claude())
