"""The judge server: one warm service behind a Unix socket, requests one after the other.

Answers {"op": "evaluate", "request": {...}} with {"verdict": {...}}, and {"op": "ping"} with {"pong": true}. It ends on
SIGTERM or SIGINT, or with its parent, and leaves no process behind.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import traceback
from pathlib import Path
from typing import Any

from kernelwright.cli import die_with_parent
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.judge.protocol import Channel, Closed, Malformed
from kernelwright.judge.request import JudgeRequest


def serve(path: Path, with_parent: bool) -> int:
    """Serve until a signal. Raises InputError when the socket cannot be made."""
    if with_parent:
        die_with_parent()
    listener = listen(path)
    from kernelwright.judge.service import Service

    service = Service()
    try:
        asked_to_stop = stop_signals()
        service.zygote.wait_ready()
        while listener in select.select([listener, asked_to_stop], [], [])[0]:
            connection, _ = listener.accept()
            threading.Thread(target=attend, args=(service, Channel(connection)), daemon=True).start()
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        service.close()
    return 0


def stop_signals() -> socket.socket:
    """A socket that turns readable once SIGTERM or SIGINT came.

    An exception out of the handler would be lost to a signal that arrives just before `accept`, and would
    cut `close` short if a second one came.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    return reader


def listen(path: Path) -> socket.socket:
    """A listening socket for this user alone; a stale file of a dead server is replaced."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            with contextlib.suppress(OSError):
                probe.connect(str(path))
                raise InputError(f"--socket {path}: a server already listens there")
            path.unlink()
        listener.bind(str(path))
        os.chmod(path, 0o600)
        listener.listen(64)
    except OSError as error:
        raise InputError(f"--socket {path}: cannot listen there ({error.strerror or error})") from None
    finally:
        probe.close()
    return listener


def attend(service: Any, channel: Channel) -> None:
    """Answer one client until it hangs up."""
    with contextlib.suppress(Closed, Malformed):
        while True:
            message, _ = channel.receive()
            channel.send(answer(service, message))
    channel.close()


def answer(service: Any, message: dict[str, Any]) -> dict[str, Any]:
    if message.get("op") == "ping":
        return {"pong": True, "pid": os.getpid()}
    try:
        return {"verdict": service.evaluate(JudgeRequest.from_dict(message["request"]))}
    except InputError as error:
        return {"input_error": str(error)}
    except KernelwrightError as error:
        return {"error": str(error)}
    except Exception as error:  # the client must hear of it; the server lives on
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}
