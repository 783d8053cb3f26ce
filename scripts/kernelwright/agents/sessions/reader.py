"""From the events of a CLI to the state of its session; one subclass per kind of stream."""

from __future__ import annotations

from typing import Any

from kernelwright.agents.sessions.record import Failure, Tokens


class Reader:
    """State of one run of a CLI, brought up to date by `feed`. Tokens and cost None: not told (yet)."""

    def __init__(self) -> None:
        self.tokens: Tokens | None = None
        self.cost_usd: float | None = None
        self.turns = 0
        self.last_tool: str | None = None
        self.session_id: str | None = None
        self.model: str | None = None
        self.failure: Failure | None = None
        self.finished = False  # the CLI said that it has ended its work
        self.complete = True  # False: something was spent that the stream cannot tell
        self.text = ""  # the last words of the model

    def feed(self, event: dict[str, Any]) -> None:
        """Take one event. Unknown events are ignored: CLIs add some with every release."""
        raise NotImplementedError

    def keeps(self, event: dict[str, Any]) -> bool:
        """Whether session.jsonl keeps the event; parts that a later event repeats whole are left out."""
        return True

    def describe(self, event: dict[str, Any]) -> str | None:
        """One event for a person, None for what says nothing: the texts and tool calls of a replay."""
        return None

    def tool(self, name: str, detail: Any = "") -> None:
        """Note the last tool call for the live view."""
        self.last_tool = f"{name} {' '.join(str(detail).split())}".strip()[:120]
