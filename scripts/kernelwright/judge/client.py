"""Ask the judge: the server that this run has started, or a judge in this process. Both are the same code."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
from functools import cache
from typing import Any

from kernelwright.errors import InputError, KernelwrightError
from kernelwright.judge.protocol import Channel, Closed, Malformed
from kernelwright.judge.request import JudgeRequest

SOCKET_VARIABLE = "KERNELWRIGHT_JUDGE_SOCKET"


def evaluate(request: JudgeRequest) -> dict[str, Any]:
    """The verdict's body (keys of verdict.schema.yaml from `status` on) plus `facts` for its provenance.

    Raises InputError when the request is wrong, KernelwrightError when the server is lost on the way.
    """
    channel = connect(os.environ.get(SOCKET_VARIABLE))
    return local_service().evaluate(request) if channel is None else ask(channel, request)


def connect(path: str | None) -> Channel | None:
    """A channel to the server at `path`; None when there is none or nobody answers."""
    if not path:
        return None
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        return None
    return Channel(sock)


def ask(channel: Channel, request: JudgeRequest) -> dict[str, Any]:
    import json

    try:
        reply, _ = channel.ask({"op": "evaluate", "request": json.loads(request.to_json())})
    except (Closed, Malformed):
        raise KernelwrightError("the judge server ended while it worked on a request") from None
    finally:
        channel.close()
    if "input_error" in reply:
        raise InputError(reply["input_error"])
    if "error" in reply:
        raise KernelwrightError(f"the judge server failed: {reply['error']}")
    return reply["verdict"]


@cache
def local_service() -> Any:
    """The judge of this process, started at the first request and ended with the process."""
    from kernelwright.judge.service import Service

    service = Service()
    atexit.register(service.close)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that its folders go with it
    return service
