from __future__ import annotations

import os
import threading
import time

import pytest
from kernelwright.judge.protocol import HEADER, Channel, Closed, Malformed, TimedOut, pair


def channels() -> tuple[Channel, Channel]:
    one, other = pair()
    return Channel(one), Channel(other)


def test_messages_and_descriptors_arrive() -> None:
    one, other = channels()
    fd = os.memfd_create("test")
    os.write(fd, b"content")
    one.send({"text": "ä" * 10, "numbers": [1, 2.5, None]}, [fd])
    message, fds = other.receive(1)
    assert message == {"text": "ä" * 10, "numbers": [1, 2.5, None]}
    assert os.pread(fds[0], 7, 0) == b"content"


def test_large_message_arrives_whole() -> None:
    one, other = channels()
    thread = threading.Thread(target=one.send, args=({"data": "x" * 3_000_000},))
    thread.start()
    message, _ = other.receive(5)
    thread.join()
    assert len(message["data"]) == 3_000_000


def test_silence_is_a_timeout_and_hanging_up_is_an_end() -> None:
    one, other = channels()
    with pytest.raises(TimedOut):
        other.receive(0.01)
    one.close()
    with pytest.raises(Closed):
        other.receive(1)


@pytest.mark.parametrize(
    "data",
    [
        HEADER.pack(5) + b"{nope",
        HEADER.pack(60000) + b"[" * 60000,
        HEADER.pack(5000) + b"1" * 5000,
        HEADER.pack(1 << 31),
        HEADER.pack(2) + b"{}" + HEADER.pack(2) + b"{}",
    ],
    ids=["not JSON", "too deep", "huge number", "too long", "two answers"],
)
def test_hostile_bytes_are_malformed(data: bytes) -> None:
    one, other = channels()
    one.send_bytes(data)
    with pytest.raises(Malformed):
        other.receive(1)


def test_pending_tells_of_bytes_that_nobody_read() -> None:
    one, other = channels()
    assert not other.pending()
    one.send({})
    assert other.pending()


def test_the_time_limit_is_one_for_the_whole_message() -> None:
    one, other = channels()
    one.send_bytes(HEADER.pack(20))

    def drip() -> None:
        for _ in range(20):
            time.sleep(0.05)
            one.send_bytes(b" ")

    thread = threading.Thread(target=drip)
    thread.start()
    start = time.monotonic()
    with pytest.raises(TimedOut):
        other.receive(0.2)
    assert time.monotonic() - start < 0.9  # the last byte would have come after a second
    thread.join()
