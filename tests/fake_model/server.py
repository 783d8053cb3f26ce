"""A model server on 127.0.0.1 whose model follows a script, bills what it answers and fails on demand.

A script is a list of steps, chosen by the first of its markers that the latest prompt with a marker contains:
{"run": command}, {"write": [path, text]}, {"read": path}, {"judge": file}, {"text": words} or
{"tool": name, "arguments": {...}} for a tool of one client, or a function that makes one
of these from what the last tool gave. The number of tool calls since that prompt
says which step is next, so the server keeps no conversation.
"""

from __future__ import annotations

import json
import shlex
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fake_model.protocols import FORMATS, SHELLS, Conversation, Cost, Reply

STATUS = {
    "500": (500, "api_error", "internal error"),
    "429": (429, "rate_limit_error", "rate limit reached"),
    "401": (401, "authentication_error", "invalid x-api-key"),
    "overflow": (400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    "overflow_openai": (400, "context_length_exceeded", "Your input exceeds the context window of this model."),
}


@dataclass
class Fault:
    """Answers from number `first` (from 0) on fail in the way `kind`, `times` of them (-1: all)."""

    kind: str
    first: int = 0
    times: int = -1


@dataclass
class FakeModel:
    """The model: its scripts (marker -> steps), its faults, and what it has billed."""

    scripts: dict[str, list[Any]]
    faults: list[Fault] = field(default_factory=list)
    requests: int = 0
    billed: list[dict[str, int]] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_fault(self) -> tuple[int, str | None]:
        """(number of the request, how it is to fail)."""
        with self.lock:
            number = self.requests
            self.requests += 1
        for fault in self.faults:
            if number >= fault.first and (fault.times < 0 or number < fault.first + fault.times):
                return number, fault.kind
        return number, None

    def reply(self, conversation: Conversation, number: int) -> Reply:
        cost = Cost(output=40 + number)
        for text, calls in reversed(conversation.prompts):
            for marker, steps in self.scripts.items():
                if marker in text:
                    step = steps[calls] if calls < len(steps) else {"text": "There is nothing more to do."}
                    step = step(conversation.result) if callable(step) else step
                    return replace(as_reply(step, conversation.tools, number), cost=cost)
        return Reply(number, "No script fits.", cost=cost)

    def bill(self, cost: Cost, fmt: Any, part: bool = False) -> None:
        """Note what an answer cost; `part`: a stream that broke behind its first event billed one output token."""
        spent = asdict(cost)
        if not fmt.billed_cache_write:
            spent["cache_write"] = 0
        if part:
            spent |= {"output": 1, "reasoning": 0}
        with self.lock:
            self.billed.append(spent)

    def total(self) -> dict[str, int]:
        """Billed so far: input (all of it), cached input, output."""
        everything = sum(one["input"] + one["cached"] + one["cache_write"] for one in self.billed)
        cached, output = (sum(one[name] for one in self.billed) for name in ("cached", "output"))
        return {"input": everything, "cached": cached, "output": output}


def as_reply(step: dict[str, Any], tools: list[str], number: int) -> Reply:
    """A step with the tools that the client offers: a shell does what no tool of its own does."""
    if "text" in step:
        return Reply(number, step["text"])
    if "tool" in step:
        return Reply(number, tool=step["tool"], arguments=step["arguments"])
    shell = next((name for name in SHELLS if name in tools), None)
    if "write" in step:
        path, text = step["write"]
        if "write_file" in tools:
            return Reply(number, tool="write_file", arguments={"path": path, "content": text})
        command = (
            f"mkdir -p $(dirname {shlex.quote(path)}); cat > {shlex.quote(path)} <<'END_OF_FILE'\n{text}END_OF_FILE\n"
        )
    elif "read" in step:
        if "read_file" in tools:
            return Reply(number, tool="read_file", arguments={"path": step["read"]})
        command = f"cat {shlex.quote(step['read'])}"
    elif "judge" in step:
        if "judge" in tools:
            return Reply(number, tool="judge", arguments={"file": step["judge"]})
        command = f"./kernelwright tool judge {shlex.quote(step['judge'])}"
    else:
        command = step["run"]
    if shell is None:
        return Reply(number, f"This client has no shell: {tools}")
    patience = {"yield_time_ms": 30_000} if shell == "exec_command" else {}  # how long the client waits by itself
    return Reply(number, tool=shell, arguments={SHELLS[shell]: command, **patience})


class Handler(BaseHTTPRequestHandler):
    """One request; `model` is set by `serve`."""

    model: FakeModel
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self.send_body(200, "application/json", json.dumps({"data": [], "object": "list"}))

    do_HEAD = do_GET

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        fmt = next((found for suffix, found in FORMATS.items() if path.endswith(suffix)), None)
        if fmt is None:
            self.send_body(404, "application/json", "{}")
            return
        body = json.loads(raw)
        conversation = fmt.read(body)
        self.model.bodies.append(raw.decode())
        number, fault = self.model.next_fault()
        if fault in STATUS:
            status, kind, text = STATUS[fault]
            self.send_body(status, "application/json", json.dumps(fmt.error(status, kind, text)))
            return
        self.answer(fmt, self.model.reply(conversation, number), conversation, fault)

    def answer(self, fmt: Any, reply: Reply, conversation: Conversation, fault: str | None) -> None:
        if fault == "hang":
            time.sleep(600)
        elif fault == "html":
            self.send_body(200, "text/html", "<html>a captive portal</html>")
        elif fault in ("drop", "malformed"):
            self.broken(fmt, reply, conversation, fault)
        elif conversation.stream:
            self.model.bill(reply.cost, fmt)
            self.send_body(200, "text/event-stream", "".join(fmt.stream(reply, conversation.model)))
        else:
            self.model.bill(reply.cost, fmt)
            self.send_body(200, "application/json", json.dumps(fmt.whole(reply, conversation.model)))

    def broken(self, fmt: Any, reply: Reply, conversation: Conversation, fault: str) -> None:
        """A stream that ends, or turns into nonsense, behind its first event; an answer without a stream is cut too."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if conversation.stream else "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        if fault == "malformed":
            self.wfile.write(b"data: {this is no json\n\n")
        elif conversation.stream:
            if fmt.billed_at_start:
                self.model.bill(reply.cost, fmt, part=True)
            self.wfile.write(next(iter(fmt.stream(reply, conversation.model))).encode())
        self.wfile.flush()
        self.close_connection = True

    def send_body(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class Server:
    """`with Server(model) as url`: serve in a thread."""

    def __init__(self, model: FakeModel) -> None:
        self.model = model
        handler = type("BoundHandler", (Handler,), {"model": model})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True

    def __enter__(self) -> str:
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def __exit__(self, *_: Any) -> None:
        self.http.shutdown()
        self.http.server_close()
