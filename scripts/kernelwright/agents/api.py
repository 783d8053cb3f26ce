"""A model behind an endpoint, without a CLI: a small tool loop of our own over the openai or the anthropic package.

The loop (tools/model_loop.py) runs as a process of its own under the same budgets and walls as a CLI. It has no shell: its
model may list, read and write files of its folder and use the tools of the session.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from kernelwright.agents.sessions.adapter import Adapter, Launch
from kernelwright.agents.sessions.coding import CodingAgent
from kernelwright.agents.sessions.reader import Reader
from kernelwright.agents.sessions.record import MISSING, NETWORK, Failure, Tokens, failure
from kernelwright.agents.tools import model_loop
from kernelwright.errors import InputError

PROVIDERS = ("openai", "anthropic")


class ApiReader(Reader):
    """Events of tools/model_loop.py."""

    def feed(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "session":
            self.session_id, self.model = event["id"], event["model"]
        elif kind == "answer":
            self.turns += 1
            self.text = event["text"] or self.text
            if event["tokens"] is None:  # a server that does not count
                self.complete = False
            else:
                self.tokens = (self.tokens or Tokens()) + Tokens(*event["tokens"])
        elif kind == "tool":
            self.tool(event["name"], event["arguments"].get("path") or json.dumps(event["arguments"]))
        elif kind == "end":
            self.finished = True
        elif kind == "error":
            self.finished = True
            self.failure = failure(event["text"], event["status"])
            if event.get("missing"):
                self.failure = Failure(MISSING, event["text"])
            self.complete = self.complete and self.failure.kind != NETWORK
            self.tokens = self.tokens or Tokens()

    def describe(self, event: dict[str, Any]) -> str | None:
        if event["type"] == "tool":
            return f"> {event['name']} {json.dumps(event['arguments'])}"
        return event["text"] or None if event["type"] in ("answer", "error") else None


class Api(Adapter):
    """`provider` openai (Chat Completions; any server that speaks it by base_url) or anthropic (Messages)."""

    NAME = "api"
    PROGRAM = sys.executable
    VARIABLES = ("OPENAI_", "ANTHROPIC_")
    INSTALL = "pip install 'kernelwright[api]'"
    RESUMES = False

    def argv(self, launch: Launch) -> list[str]:
        settings = launch.settings
        provider = settings.provider or "openai"
        if provider not in PROVIDERS:
            raise InputError(f"session settings of api: provider: {provider!r} is not one of {', '.join(PROVIDERS)}")
        if not settings.model:
            raise InputError("session settings of api: model: null; the name of a model is needed")
        words = [self.PROGRAM, "-E", "-s", str(Path(model_loop.__file__).resolve()), "--provider", provider]
        words += ["--model", settings.model, "--session", launch.session_id]
        words += ["--base-url", settings.base_url] if settings.base_url else []
        words += ["--effort", settings.effort] if settings.effort else []
        return [*words, *settings.args, "--", launch.prompt]

    def reader(self, resumed: bool = False) -> Reader:
        return ApiReader()

    def version(self, environment: Mapping[str, str]) -> str | None:
        found = []
        for name in PROVIDERS:
            with contextlib.suppress(metadata.PackageNotFoundError):
                found.append(f"{name} {metadata.version(name)}")
        return ", ".join(found) or None

    def login(self, environment: Mapping[str, str]) -> tuple[bool | None, str]:
        keys = [name for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY") if environment.get(name)]
        return bool(
            keys
        ), f"{' and '.join(keys) or 'OPENAI_API_KEY or ANTHROPIC_API_KEY'} {'is' if keys else 'is not'} set"


AGENT = CodingAgent(Api())
