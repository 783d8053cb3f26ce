"""The same tools for CLIs that speak the Model Context Protocol: JSON-RPC lines on stdin and stdout.

Standard library alone, as client.py: it runs inside the agent's walls, where this package's dependencies need not be.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Any

if __package__:
    from kernelwright.agents.tools.client import SOCKET_VARIABLE, ask
else:  # started by its path
    from client import SOCKET_VARIABLE, ask  # type: ignore[import-not-found,no-redef]

PROTOCOL = "2025-06-18"
FILE = {"file": {"type": "string", "description": "default: the kernel file of this session"}}
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "judge": ("Judge a kernel against the incumbent: right values, then speed.",
              {**FILE, "depth": {"type": "string", "enum": ["quick", "full"]}}),
    "compile": ("Does a kernel build and give right values once? Not timed.", FILE),
    "profile": ("Metrics and bottlenecks of the incumbent.", {}),
    "wiki": ("Knowledge cards by words, or one card by its id.", {"query": {"type": "string"}}),
    "memory": ("Lessons of earlier versions.", {}),
    "status": ("What is left of the budgets, and the best kernel so far.", {}),
}  # fmt: skip


def listed() -> list[dict[str, Any]]:
    """The tools as tools/list shows them."""
    shape = {"type": "object", "additionalProperties": False}
    return [
        {"name": name, "description": text, "inputSchema": {**shape, "properties": properties}}
        for name, (text, properties) in TOOLS.items()
    ]


def called(params: dict[str, Any], socket_path: str) -> dict[str, Any]:
    """Result of tools/call."""
    try:
        answer = ask(socket_path, str(params.get("name")), params.get("arguments") or {})
    except (OSError, ValueError) as error:
        answer = {"error": str(error)}
    return {"content": [{"type": "text", "text": json.dumps(answer, indent=1)}], "isError": "error" in answer}


def reply(message: dict[str, Any], socket_path: str) -> dict[str, Any] | None:
    """The answer to one message; None for a notification."""
    if "id" not in message:
        return None
    method, params = message.get("method"), message.get("params") or {}
    head = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        version = params.get("protocolVersion") or PROTOCOL
        server = {"name": "kernelwright", "version": "1"}
        return {**head, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}}
    if method == "ping":
        return {**head, "result": {}}
    if method == "tools/list":
        return {**head, "result": {"tools": listed()}}
    if method == "tools/call":
        return {**head, "result": called(params, socket_path)}
    return {**head, "error": {"code": -32601, "message": f"method {method!r} is not known"}}


def serve(source: IO[str], sink: IO[str], socket_path: str) -> None:
    """Answer until the input ends."""
    for line in source:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        answer = reply(message, socket_path) if isinstance(message, dict) else None
        if answer is not None:
            sink.write(json.dumps(answer) + "\n")
            sink.flush()


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout, os.environ.get(SOCKET_VARIABLE, sys.argv[1] if len(sys.argv) > 1 else ""))
