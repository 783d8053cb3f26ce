"""Three wire formats of one scripted model: Anthropic Messages, OpenAI Responses and OpenAI Chat Completions.

Each format reads a request into a `Conversation` and turns a `Reply` into an answer, streaming or not. What a reply
costs is fixed by the reply, so that what a client says it spent can be compared with what was billed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SHELLS = {"Bash": "command", "bash": "command", "exec_command": "cmd"}  # tool of a shell -> its argument


@dataclass(frozen=True)
class Cost:
    """Tokens of one answer; `input` counts neither cached nor newly cached ones, `output` includes reasoning."""

    input: int = 100
    cached: int = 300
    cache_write: int = 20
    output: int = 40
    reasoning: int = 10


@dataclass(frozen=True)
class Reply:
    """Text, or one tool call when `tool` is set."""

    number: int
    text: str = ""
    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    cost: Cost = Cost()


@dataclass(frozen=True)
class Conversation:
    """What a request holds: the texts people wrote, with the number of tool calls made after each, the tools, and what
    the last of them gave."""

    prompts: list[tuple[str, int]]
    tools: list[str]
    stream: bool
    model: str
    result: str = ""


def _fold(parts: list[tuple[str, str]]) -> list[tuple[str, int]]:
    """(kind, text) in order, kinds `prompt` and `call` -> prompts with the number of calls that follow each."""
    prompts: list[tuple[str, int]] = []
    for kind, text in parts:
        if kind == "prompt":
            prompts.append((text, 0))
        elif prompts:
            prompts[-1] = (prompts[-1][0], prompts[-1][1] + 1)
    return prompts


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or [] if isinstance(part, dict) and "text" in part]


class Messages:
    """POST /v1/messages."""

    billed_cache_write = True
    billed_at_start = True  # a stream tells its input first

    @staticmethod
    def read(body: dict[str, Any]) -> Conversation:
        parts: list[tuple[str, str]] = []
        result = ""
        for message in body["messages"]:
            if message["role"] == "user":
                parts += [("prompt", text) for text in _texts(message["content"])]
                blocks = message["content"] if isinstance(message["content"], list) else []
                results = [_texts(block.get("content")) for block in blocks if block["type"] == "tool_result"]
                result = "".join("".join(texts) for texts in results) or result
            elif not isinstance(message["content"], str):
                parts += [("call", "") for part in message["content"] if part["type"] == "tool_use"]
        tools = [tool["name"] for tool in body.get("tools") or []]
        return Conversation(_fold(parts), tools, bool(body.get("stream")), body["model"], result)

    @staticmethod
    def usage(cost: Cost) -> dict[str, int]:
        return {"input_tokens": cost.input, "cache_creation_input_tokens": cost.cache_write,
                "cache_read_input_tokens": cost.cached, "output_tokens": cost.output}  # fmt: skip

    @classmethod
    def whole(cls, reply: Reply, model: str) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "text", "text": reply.text}
        if reply.tool:
            block = {"type": "tool_use", "id": f"toolu_{reply.number}", "name": reply.tool, "input": reply.arguments}
        return {"id": f"msg_{reply.number}", "type": "message", "role": "assistant", "model": model,
                "content": [block], "stop_reason": "tool_use" if reply.tool else "end_turn", "stop_sequence": None,
                "usage": cls.usage(reply.cost)}  # fmt: skip

    @classmethod
    def events(cls, reply: Reply, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
        message = cls.whole(reply, model)
        block = message["content"][0]
        start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
        yield "message_start", {"message": start}
        empty = {**block, "input": {}} if reply.tool else {"type": "text", "text": ""}
        yield "content_block_start", {"index": 0, "content_block": empty}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
        yield (
            "content_block_delta",
            {"index": 0, "delta": delta if reply.tool else {"type": "text_delta", "text": reply.text}},
        )
        yield "content_block_stop", {"index": 0}
        yield "message_delta", {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
                                "usage": {"output_tokens": reply.cost.output}}  # fmt: skip
        yield "message_stop", {}

    @classmethod
    def stream(cls, reply: Reply, model: str) -> Iterator[str]:
        for name, body in cls.events(reply, model):
            yield f"event: {name}\ndata: {json.dumps({'type': name, **body})}\n\n"

    @staticmethod
    def error(status: int, kind: str, text: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": kind, "message": text}}


class Responses:
    """POST /v1/responses."""

    billed_cache_write = False
    billed_at_start = False

    @staticmethod
    def read(body: dict[str, Any]) -> Conversation:
        parts: list[tuple[str, str]] = []
        result = ""
        for item in body["input"]:
            if item.get("type") == "function_call_output":
                result = "".join(_texts(item["output"]))
            if item.get("type") in ("function_call", "custom_tool_call", "local_shell_call"):
                parts.append(("call", ""))
            elif item.get("role") == "user":
                parts += [("prompt", text) for text in _texts(item["content"])]
        tools = [tool["name"] for tool in body.get("tools") or [] if "name" in tool]
        return Conversation(_fold(parts), tools, bool(body.get("stream")), body["model"], result)

    @classmethod
    def whole(cls, reply: Reply, model: str) -> dict[str, Any]:
        cost = reply.cost
        item: dict[str, Any] = {"type": "message", "id": f"msg_{reply.number}", "role": "assistant", "status": "completed",
                                "content": [{"type": "output_text", "text": reply.text, "annotations": []}]}  # fmt: skip
        if reply.tool:
            item = {"type": "function_call", "id": f"fc_{reply.number}", "call_id": f"call_{reply.number}",
                    "name": reply.tool, "arguments": json.dumps(reply.arguments), "status": "completed"}  # fmt: skip
        everything = cost.input + cost.cached
        usage = {"input_tokens": everything, "input_tokens_details": {"cached_tokens": cost.cached},
                 "output_tokens": cost.output, "output_tokens_details": {"reasoning_tokens": cost.reasoning},
                 "total_tokens": everything + cost.output}  # fmt: skip
        return {"id": f"resp_{reply.number}", "object": "response", "created_at": 1, "status": "completed",
                "model": model, "output": [item], "usage": usage}  # fmt: skip

    @classmethod
    def stream(cls, reply: Reply, model: str) -> Iterator[str]:
        response = cls.whole(reply, model)
        item = response["output"][0]
        events = [
            {
                "type": "response.created",
                "response": {**response, "status": "in_progress", "output": [], "usage": None},
            },
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
        for event in events:
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"

    @staticmethod
    def error(status: int, kind: str, text: str) -> dict[str, Any]:
        return {"error": {"type": kind, "code": kind, "message": text}}


class Chat:
    """POST /v1/chat/completions."""

    billed_cache_write = False
    billed_at_start = False

    @staticmethod
    def read(body: dict[str, Any]) -> Conversation:
        parts: list[tuple[str, str]] = []
        for message in body["messages"]:
            if message["role"] == "user":
                parts += [("prompt", text) for text in _texts(message["content"])]
            parts += [("call", "") for _ in message.get("tool_calls") or []]
        tools = [tool["function"]["name"] for tool in body.get("tools") or []]
        results = ["".join(_texts(message["content"])) for message in body["messages"] if message["role"] == "tool"]
        result = results[-1] if results else ""
        return Conversation(_fold(parts), tools, bool(body.get("stream")), body["model"], result)

    @classmethod
    def whole(cls, reply: Reply, model: str) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.tool:
            function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
            message["tool_calls"] = [{"id": f"call_{reply.number}", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if reply.tool else "stop"}
        return {"id": f"chatcmpl-{reply.number}", "object": "chat.completion", "created": 1, "model": model,
                "choices": [choice], "usage": cls.usage(reply.cost)}  # fmt: skip

    @staticmethod
    def usage(cost: Cost) -> dict[str, Any]:
        everything = cost.input + cost.cached
        return {"prompt_tokens": everything, "completion_tokens": cost.output, "total_tokens": everything + cost.output,
                "prompt_tokens_details": {"cached_tokens": cost.cached},
                "completion_tokens_details": {"reasoning_tokens": cost.reasoning}}  # fmt: skip

    @classmethod
    def stream(cls, reply: Reply, model: str) -> Iterator[str]:
        whole = cls.whole(reply, model)
        choice = whole.pop("choices")[0]
        usage = whole.pop("usage")
        head = {**whole, "object": "chat.completion.chunk"}
        delta = choice["message"]
        for index, call in enumerate(delta.get("tool_calls", [])):
            call["index"] = index
        chunks = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
            {**head, "choices": [], "usage": usage},
        ]
        for chunk in chunks:
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"

    error = Responses.error


FORMATS: dict[str, Any] = {"/messages": Messages, "/responses": Responses, "/chat/completions": Chat}
