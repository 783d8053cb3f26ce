"""Messages between the judge's processes: 4 bytes of length, JSON, and file descriptors beside it.

Strictly one question, one answer. The other side may be hostile: only JSON is parsed, sizes are bounded, and bytes that
nobody asked for are an error.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

HEADER = struct.Struct("<I")
MAX_BYTES = 64 << 20
MAX_FDS = 16


class Closed(Exception):
    """The other side is gone."""


class TimedOut(Exception):
    """No answer in time."""


class Malformed(Exception):
    """The other side did not keep to the protocol."""


class Channel:
    """One end of a Unix stream socket that carries messages."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def send(self, message: Any, fds: Sequence[int] = ()) -> None:
        self.send_bytes(encode(message), fds)

    def send_bytes(self, data: bytes, fds: Sequence[int] = ()) -> None:
        try:
            sent = socket.send_fds(self.sock, [data], list(fds)) if fds else self.sock.send(data)
            if sent < len(data):
                self.sock.sendall(data[sent:])
        except TimeoutError:
            raise TimedOut from None
        except OSError:
            raise Closed from None

    def receive(self, timeout_s: float | None = None) -> tuple[Any, list[int]]:
        """The next message and its descriptors. Raises Closed, TimedOut or Malformed."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s  # of the whole message
        self.sock.settimeout(timeout_s)
        fds: list[int] = []
        try:
            data, fds, _, _ = socket.recv_fds(self.sock, 1 << 16, MAX_FDS)
            return decode(self._whole(data, deadline)), list(fds)
        except BaseException as error:
            close_all(fds)
            if isinstance(error, TimeoutError):
                raise TimedOut from None
            if isinstance(error, OSError):
                raise Closed from None
            raise

    def _whole(self, data: bytes, deadline: float | None) -> bytes:
        """The body of a message that begins with `data`."""
        if not data:
            raise Closed
        while len(data) < HEADER.size:
            data += self._more(HEADER.size - len(data), deadline)
        size = HEADER.unpack_from(data)[0]
        if size > MAX_BYTES:
            raise Malformed(f"message of {size} bytes")
        parts = [data[HEADER.size :]]
        missing = size - len(parts[0])
        while missing > 0:
            parts.append(self._more(missing, deadline))
            missing -= len(parts[-1])
        if missing < 0:
            raise Malformed("more than one answer")
        return b"".join(parts)

    def ask(self, message: Any, fds: Sequence[int] = (), timeout_s: float | None = None) -> tuple[Any, list[int]]:
        self.send(message, fds)
        return self.receive(timeout_s)

    def pending(self) -> bool:
        """True when bytes wait that nobody has asked for."""
        return bool(select.select([self.sock], [], [], 0)[0])

    def close(self) -> None:
        self.sock.close()

    def _more(self, size: int, deadline: float | None) -> bytes:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimedOut
            self.sock.settimeout(left)
        data = self.sock.recv(min(size, 1 << 20))
        if not data:
            raise Closed
        return data


def encode(message: Any) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode()
    return HEADER.pack(len(body)) + body


def decode(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError, MemoryError):
        raise Malformed("not JSON that can be read") from None


def close_all(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


def pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
