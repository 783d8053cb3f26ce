"""pi (`pi --mode json`): JSON events a line; facts checked with 0.74.2. Its exit code is 0 whatever happens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.agents.sessions.adapter import Adapter, Launch, jsonl
from kernelwright.agents.sessions.coding import CodingAgent
from kernelwright.agents.sessions.reader import Reader
from kernelwright.agents.sessions.record import NETWORK, Failure, Tokens, failure


def tokens_of(usage: Mapping[str, Any]) -> Tokens:
    """Tokens of a `usage` object, whose input counts no cached ones."""
    cached, written = int(usage.get("cacheRead") or 0), int(usage.get("cacheWrite") or 0)
    sent = int(usage.get("input") or 0) + cached + written
    return Tokens(sent, cached, written, int(usage.get("output") or 0), int(usage.get("reasoning") or 0))


class PiReader(Reader):
    """Only `message_end` counts: other events repeat its usage."""

    def keeps(self, event: dict[str, Any]) -> bool:
        return event.get("type") not in (
            "message_update",
            "message_start",
            "turn_end",
            "agent_end",
            "tool_execution_update",
        )

    def feed(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "session":
            self.session_id = event.get("id")
        elif kind == "tool_execution_start":
            given = event.get("args") or {}
            self.tool(str(event.get("toolName")), given.get("command") or given.get("path") or json.dumps(given))
        elif kind == "message_end" and (event.get("message") or {}).get("role") == "assistant":
            self.message(event["message"])
        elif kind == "auto_retry_end" and event.get("success") is False:
            self.failure = failure(str(event.get("finalError")))
        elif kind == "agent_end" and not event.get("willRetry"):
            self.finished = True

    def describe(self, event: dict[str, Any]) -> str | None:
        if event.get("type") == "tool_execution_start":
            given = event.get("args") or {}
            return f"> {event.get('toolName')} {given.get('command') or json.dumps(given)}"
        message = event.get("message") or {}
        if event.get("type") != "message_end" or message.get("role") == "user":
            return None
        if message.get("errorMessage"):
            return f"error: {message['errorMessage']}"
        text = "".join(part.get("text", "") for part in message.get("content") or [])
        return f"< {text}" if message.get("role") == "toolResult" else text or None

    def message(self, message: dict[str, Any]) -> None:
        usage = message.get("usage") or {}
        self.turns += 1
        self.model = message.get("model")
        self.tokens = (self.tokens or Tokens()) + tokens_of(usage)
        self.cost_usd = (self.cost_usd or 0.0) + float((usage.get("cost") or {}).get("total") or 0.0)
        said = [part.get("text", "") for part in message.get("content") or [] if part.get("type") == "text"]
        self.text = "".join(said) or self.text
        self.failure = None
        if message.get("stopReason") in ("error", "aborted"):
            self.failure = failure(str(message.get("errorMessage")))
            self.complete = self.complete and self.failure.kind != NETWORK
        elif not message.get("content") and not tokens_of(usage).total:
            self.failure = Failure(NETWORK, "an answer without content and usage: the stream was malformed")
            self.complete = False


class Pi(Adapter):
    """Any model of ~/.pi/agent/models.json or of a provider that pi knows."""

    NAME = PROGRAM = "pi"
    VARIABLES = (
        "PI_",
        "ANTHROPIC_",
        "OPENAI_",
        "GEMINI_",
        "GROQ_",
        "OPENROUTER_",
        "XAI_",
        "MISTRAL_",
        "AZURE_",
        "AWS_",
    )
    STATE = (".pi",)
    INSTALL = "npm install -g @earendil-works/pi-coding-agent@0.74.2 (newer ones need Node 22)"

    def argv(self, launch: Launch) -> list[str]:
        settings = launch.settings
        words = [self.PROGRAM, "--mode", "json", "-p"]
        words += ["--session", launch.session_id] if launch.resume else []
        flags = (("--provider", settings.provider), ("--model", settings.model), ("--thinking", settings.effort))
        for flag, value in flags:
            words += [flag, value] if value else []
        return [*words, *settings.args, launch.prompt]

    def extra_environment(self, launch: Launch) -> dict[str, str]:
        return {"PI_SKIP_VERSION_CHECK": "1"}

    def reader(self, resumed: bool = False) -> Reader:
        return PiReader()

    def recovered(self, session_id: str | None, environment: Mapping[str, str], folder: Path) -> Tokens | None:
        """Sum over the assistant messages of ~/.pi/agent/sessions/<folder>/*_<id>.jsonl."""
        root = Path(environment.get("PI_CODING_AGENT_DIR") or Path(environment["HOME"]) / ".pi" / "agent")
        found = list((root / "sessions").glob(f"*/*{session_id}*.jsonl")) if session_id else []
        if not found:
            return None
        messages = [line.get("message") or {} for line in jsonl(found[0]) if line.get("type") == "message"]
        usages = [message.get("usage") or {} for message in messages if message.get("role") == "assistant"]
        return sum(map(tokens_of, usages), Tokens())


AGENT = CodingAgent(Pi())
