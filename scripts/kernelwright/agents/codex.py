"""OpenAI Codex (`codex exec`): JSON events a line; facts checked with 0.171.0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.agents.sessions.adapter import Adapter, Launch, jsonl
from kernelwright.agents.sessions.coding import CodingAgent
from kernelwright.agents.sessions.reader import Reader
from kernelwright.agents.sessions.record import NETWORK, Tokens, failure


def tokens_of(usage: Mapping[str, Any]) -> Tokens:
    """Tokens of a `usage` object: input includes cached ones, output includes reasoning."""
    names = (
        "input_tokens",
        "cached_input_tokens",
        "cache_write_input_tokens",
        "output_tokens",
        "reasoning_output_tokens",
    )
    return Tokens(*(int(usage.get(name) or 0) for name in names))


class CodexReader(Reader):
    """Tokens come at the end of a turn that succeeds, and count the whole thread; all others are in the session file."""

    def feed(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "thread.started":
            self.session_id = event.get("thread_id")
        elif kind in ("item.started", "item.completed"):
            self.item(event.get("item") or {}, kind == "item.completed")
        elif kind == "turn.completed":
            self.finished, self.failure = True, None
            self.tokens = tokens_of(event.get("usage") or {})
        elif kind == "turn.failed":
            self.finished = True
            self.failure = failure(str((event.get("error") or {}).get("message")))
            self.complete = self.complete and self.failure.kind != NETWORK
        elif kind == "error" and failure(str(event.get("message"))).kind == NETWORK:
            self.complete = False  # what the broken stream cost is not told

    def describe(self, event: dict[str, Any]) -> str | None:
        item = event.get("item") or {}
        if event.get("type") in ("error", "turn.failed"):
            return f"error: {event.get('message') or (event.get('error') or {}).get('message')}"
        if event.get("type") != "item.completed":
            return None
        if item.get("type") == "command_execution":
            return f"> {item.get('command')}\n< {item.get('aggregated_output')}"
        return item.get("text") if item.get("type") in ("agent_message", "reasoning") else None

    def item(self, item: dict[str, Any], completed: bool) -> None:
        # An item of type `error` comes with success too: it is a warning.
        if item.get("type") == "command_execution":
            self.turns += completed
            self.tool("shell", item.get("command"))
        elif item.get("type") in ("file_change", "mcp_tool_call"):
            self.turns += completed
            self.tool(str(item["type"]), item.get("tool") or item.get("changes"))
        elif item.get("type") == "agent_message" and completed:
            self.turns += 1
            self.text = str(item.get("text"))


class Codex(Adapter):
    """OpenAI's CLI; another endpoint that speaks the Responses API through `args` with -c model_providers..."""

    NAME = PROGRAM = "codex"
    VARIABLES = ("OPENAI_", "CODEX_", "AZURE_OPENAI_")
    STATE = (".codex",)
    LOGIN = ("login", "status")
    INSTALL = "npm install -g @openai/codex@0.171.0"
    LIVE_TOKENS = False

    def argv(self, launch: Launch) -> list[str]:
        settings = launch.settings
        words = [self.PROGRAM, "exec", *(["resume"] if launch.resume else []), "--json", "--skip-git-repo-check",
                 "--dangerously-bypass-approvals-and-sandbox"]  # fmt: skip
        words += ["-m", settings.model] if settings.model else []
        words += ["-c", f'model_reasoning_effort="{settings.effort}"'] if settings.effort else []
        if launch.mcp:
            given = ", ".join(f'"{word}"' for word in launch.mcp[1:])
            words += ["-c", f'mcp_servers.kernelwright.command="{launch.mcp[0]}"']
            words += ["-c", f"mcp_servers.kernelwright.args=[{given}]"]
        words += settings.args
        return [*words, *([launch.session_id] if launch.resume else []), launch.prompt]

    def reader(self, resumed: bool = False) -> Reader:
        return CodexReader()

    def recovered(self, session_id: str | None, environment: Mapping[str, str], folder: Path) -> Tokens | None:
        """The last sum in $CODEX_HOME/sessions/*/*/*/rollout-*-<id>.jsonl. A token_usage_record is of an answer; the
        token_count events beside it are estimates after a context overflow, and count where there is no record."""
        root = Path(environment.get("CODEX_HOME") or Path(environment["HOME"]) / ".codex")
        found = list((root / "sessions").glob(f"*/*/*/rollout-*-{session_id}.jsonl")) if session_id else []
        if not found:
            return None
        answers: Mapping[str, Any] = {}
        counts: Mapping[str, Any] = {}
        for line in jsonl(found[0]):
            body = line.get("payload") or {}
            if line.get("type") == "token_usage_record":
                answers = body.get("thread_token_usage") or answers
            elif line.get("type") == "event_msg" and body.get("type") == "token_count":
                counts = (body.get("info") or {}).get("total_token_usage") or counts
        return tokens_of(answers or counts)


AGENT = CodingAgent(Codex())
