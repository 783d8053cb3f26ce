"""The socket of a session's tools: one JSON line in, one JSON line out, one request per connection."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelwright.agents.tools.toolbox import Toolbox

LONGEST_REQUEST = 1 << 16  # bytes


@contextlib.contextmanager
def serving(toolbox: Toolbox, path: Path) -> Iterator[Path]:
    """Answer requests at `path`, for this user alone, while the block runs."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    os.chmod(path, 0o600)
    listener.listen(16)
    threading.Thread(target=_accept, args=(toolbox, listener), daemon=True).start()
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        path.unlink(missing_ok=True)
        with (
            toolbox.lock
        ):  # a call that the session did not wait for ends first: its verdict counts, its device is free
            pass


def _accept(toolbox: Toolbox, listener: socket.socket) -> None:
    with contextlib.suppress(OSError):  # closed: the session is over
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_attend, args=(toolbox, connection), daemon=True).start()


def _attend(toolbox: Toolbox, connection: socket.socket) -> None:
    with contextlib.suppress(OSError), connection, connection.makefile("rwb") as stream:
        stream.write(json.dumps(answer(toolbox, stream.readline(LONGEST_REQUEST))).encode() + b"\n")


def answer(toolbox: Toolbox, line: bytes) -> dict[str, Any]:
    """The answer to one request line {"verb": ..., "arguments": {...}}."""
    try:
        request = json.loads(line)
        verb, arguments = request["verb"], request.get("arguments") or {}
    except (ValueError, KeyError, TypeError):
        return {"error": 'a request is one line {"verb": ..., "arguments": {...}}'}
    if not isinstance(verb, str) or not isinstance(arguments, dict):
        return {"error": "verb must be a text and arguments an object"}
    if not all(isinstance(value, str) for value in arguments.values()):
        return {"error": "every argument must be a text"}
    return toolbox.call(verb, arguments)
