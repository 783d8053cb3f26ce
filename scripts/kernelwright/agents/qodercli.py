"""Qoder CLI (`qodercli`): its stream has the shape of Claude Code's; checked with 1.1.52 up to its login.

Nothing behind the login could be run: which fields a successful session fills is taken from the stream's shape. A usage
of zeros throughout means unknown.
"""

from __future__ import annotations

import json
from typing import Any

from kernelwright.agents.claude import ClaudeReader
from kernelwright.agents.sessions.adapter import Adapter, Launch
from kernelwright.agents.sessions.coding import CodingAgent
from kernelwright.agents.sessions.reader import Reader
from kernelwright.agents.sessions.record import Failure


class QoderReader(ClaudeReader):
    """Zeros are no figures: this CLI counts credits."""

    def result(self, event: dict[str, Any]) -> None:
        named = self.failure  # of an earlier event, with the kind of the error in words
        super().result(event)
        if self.tokens is not None and self.tokens.total == 0:
            self.tokens, self.cost_usd, self.complete = None, None, False
        if self.failure is not None and self.failure.kind == "unknown" and named is not None:
            self.failure = Failure(named.kind, self.failure.text)


class Qoder(Adapter):
    """Qoder's CLI; it needs an account of its vendor."""

    NAME = PROGRAM = "qodercli"
    VARIABLES = ("QODER_",)
    STATE = (".qoder",)
    LOGIN = ("status",)
    INSTALL = "npm install -g @qoder-ai/qodercli@1.1.52"
    RESUMES = False  # started without session files

    def argv(self, launch: Launch) -> list[str]:
        settings = launch.settings
        words = [self.PROGRAM, "--print", "--output-format", "stream-json", "--no-session-persistence",
                 "--dangerously-skip-permissions", "--session-id", launch.session_id]  # fmt: skip
        for flag, value in (("--model", settings.model), ("--reasoning-effort", settings.effort)):
            words += [flag, value] if value else []
        if settings.settings is not None:
            path = launch.private / "settings.json"
            path.touch(mode=0o600)
            path.write_text(json.dumps(settings.settings))
            words += ["--settings", str(path)]
        return [*words, *settings.args, launch.prompt]

    def reader(self, resumed: bool = False) -> Reader:
        return QoderReader(resumed)


AGENT = CodingAgent(Qoder())
