"""The `api` agent's process: ask a model, do what it asks for, until it asks for nothing more. One JSON event a line.

Started by its path with one of the packages openai or anthropic beside it, nothing of this package but client.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if __package__:
    from kernelwright.agents.tools.client import SOCKET_VARIABLE, ask
else:  # started by its path
    from client import SOCKET_VARIABLE, ask  # type: ignore[import-not-found,no-redef]

LONGEST_RESULT = 30_000  # characters of one tool result
LONGEST_ANSWER = 16_000  # tokens
PATH = {"path": {"type": "string", "description": "relative to the current folder"}}
TOOLS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "list_files": ("Names of all files.", {}, []),
    "read_file": ("Content of a text file.", PATH, ["path"]),
    "write_file": ("Write a whole text file.", {**PATH, "content": {"type": "string"}}, ["path", "content"]),
    "replace": ("Replace the only occurrence of a text in a file.",
                {**PATH, "old": {"type": "string"}, "new": {"type": "string"}}, ["path", "old", "new"]),
    "judge": ("Judge a kernel against the incumbent: right values, then speed.",
              {"file": {"type": "string"}, "depth": {"type": "string", "enum": ["quick", "full"]}}, []),
    "compile": ("Does a kernel build and give right values once?", {"file": {"type": "string"}}, []),
    "profile": ("Metrics and bottlenecks of the incumbent.", {}, []),
    "wiki": ("Knowledge cards by words, or one card by its id.", {"query": {"type": "string"}}, []),
    "memory": ("Lessons of earlier versions.", {}, []),
    "status": ("What is left of the budgets, and the best kernel so far.", {}, []),
}  # fmt: skip
ASKED = ("judge", "compile", "profile", "wiki", "memory", "status")
SYSTEM = (
    "You work in one folder through the given tools; there is no shell. Where the task names a command "
    "`./kernelwright tool VERB`, call the tool VERB. When everything that is owed is written, answer without a tool call."
)


def emit(kind: str, **facts: Any) -> None:
    print(json.dumps({"type": kind, **facts}), flush=True)


def inside(path: str, root: Path) -> Path:
    """A path below `root`. Raises ValueError for any other."""
    found = (root / path).resolve()
    if root.resolve() not in found.parents:
        raise ValueError(f"{path}: outside of the folder")
    return found


def use(name: str, arguments: dict[str, Any], root: Path) -> str:
    """What a tool call gives; its errors are words for the model too."""
    if name not in TOOLS:
        return f"error: there is no tool {name!r}"
    try:
        if name in ASKED:
            return json.dumps(ask(os.environ[SOCKET_VARIABLE], name, arguments))
        if name == "list_files":
            files = (path for path in sorted(root.rglob("*")) if path.is_file() and ".git" not in path.parts)
            return "\n".join(str(path.relative_to(root)) for path in files)
        path = inside(arguments["path"], root)
        if name == "read_file":
            return path.read_text(errors="replace")
        if name == "write_file":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(arguments["content"])
            return "written"
        text = path.read_text()
        if text.count(arguments["old"]) != 1:
            return f"error: the old text occurs {text.count(arguments['old'])} times"
        path.write_text(text.replace(arguments["old"], arguments["new"]))
        return "replaced"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"error: {type(error).__name__}: {error}"


class OpenAI:
    """Chat Completions."""

    def __init__(self, model: str, base_url: str | None, effort: str | None) -> None:
        import openai

        self.client = openai.OpenAI(base_url=base_url) if base_url else openai.OpenAI()
        self.model, self.extra = model, {"reasoning_effort": effort} if effort else {}
        self.messages: list[Any] = [{"role": "system", "content": SYSTEM}]
        self.tools = [
            {"type": "function", "function": {"name": name, "description": text, "parameters": schema(given, needed)}}
            for name, (text, given, needed) in TOOLS.items()
        ]

    def prompt(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def answer(self) -> tuple[str, list[tuple[str, str, str]], list[int] | None]:
        """(text, calls (id, name, JSON), tokens as sessions.record.Tokens counts them)."""
        done = self.client.chat.completions.create(
            model=self.model, messages=self.messages, tools=self.tools, **self.extra  # type: ignore[arg-type]
        )  # fmt: skip
        message = done.choices[0].message
        self.messages.append(message.model_dump(exclude_none=True))
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]  # type: ignore[union-attr]
        usage = done.usage
        if usage is None:
            return message.content or "", calls, None
        cached = getattr(usage.prompt_tokens_details, "cached_tokens", None) or 0
        thought = getattr(usage.completion_tokens_details, "reasoning_tokens", None) or 0
        return message.content or "", calls, [usage.prompt_tokens, cached, 0, usage.completion_tokens, thought]

    def results(self, found: list[tuple[str, str]]) -> None:
        self.messages += [{"role": "tool", "tool_call_id": key, "content": text} for key, text in found]


class Anthropic:
    """Messages."""

    def __init__(self, model: str, base_url: str | None, effort: str | None) -> None:
        import anthropic

        self.client = anthropic.Anthropic(base_url=base_url) if base_url else anthropic.Anthropic()
        self.model = model
        self.extra: dict[str, Any] = {"output_config": {"effort": effort}} if effort else {}
        self.messages: list[Any] = []
        self.tools = [
            {"name": name, "description": text, "input_schema": schema(given, needed)}
            for name, (text, given, needed) in TOOLS.items()
        ]

    def prompt(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def answer(self) -> tuple[str, list[tuple[str, str, str]], list[int] | None]:
        done = self.client.messages.create(
            model=self.model, max_tokens=LONGEST_ANSWER, system=SYSTEM, messages=self.messages, tools=self.tools,
            extra_body=self.extra,
        )  # fmt: skip
        self.messages.append({"role": "assistant", "content": [block.model_dump() for block in done.content]})
        text = "".join(block.text for block in done.content if block.type == "text")
        calls = [(block.id, block.name, json.dumps(block.input)) for block in done.content if block.type == "tool_use"]
        usage = done.usage
        cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        return text, calls, [usage.input_tokens + cached + written, cached, written, usage.output_tokens, 0]

    def results(self, found: list[tuple[str, str]]) -> None:
        blocks = [{"type": "tool_result", "tool_use_id": key, "content": text} for key, text in found]
        self.messages.append({"role": "user", "content": blocks})


def schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def loop(model: Any, prompt: str, root: Path, say: Callable[..., None] = emit) -> None:
    """Talk until the model calls no tool. How often is up to the supervisor."""
    model.prompt(prompt)
    while True:
        text, calls, tokens = model.answer()
        say("answer", text=text, tokens=tokens)
        if not calls:
            say("end")
            return
        found = []
        for key, name, given in calls:
            try:
                arguments = json.loads(given or "{}")
            except ValueError:
                arguments = None
            if not isinstance(arguments, dict):
                found.append((key, "error: the arguments are no JSON object"))
                continue
            say("tool", name=name, arguments=arguments)
            found.append((key, use(name, arguments, root)[:LONGEST_RESULT]))
        model.results(found)


def main(argv: Sequence[str] | None = None) -> int:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--provider", choices=("openai", "anthropic"), required=True)
    for name in ("--model", "--session"):
        flags.add_argument(name, required=True)
    for name in ("--base-url", "--effort"):
        flags.add_argument(name)
    flags.add_argument("prompt")
    arguments = flags.parse_args(argv)
    emit("session", id=arguments.session, model=arguments.model)
    try:
        kind = OpenAI if arguments.provider == "openai" else Anthropic
        loop(kind(arguments.model, arguments.base_url, arguments.effort), arguments.prompt, Path.cwd())
    except ImportError as error:
        emit("error", status=None, missing=True, text=f"{error}; pip install 'kernelwright[api]'")
        return 1
    except Exception as error:  # whatever the package raises ends this process and is told
        emit("error", status=getattr(error, "status_code", None), text=f"{type(error).__name__}: {error}"[:2000])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
