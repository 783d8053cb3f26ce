"""The server's life: it answers, refuses what is wrong, and leaves nothing behind however it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernelwright.errors import InputError
from kernelwright.judge import client
from kernelwright.judge.protocol import Channel
from kernelwright.judge.request import JudgeRequest
from kernelwright.judge.service import Service
from kernelwright.judge.worker import JudgeBroken
from kernelwright.sandbox import processes

ROOT = Path(__file__).resolve().parents[3]
OPERATOR = ROOT / "tests" / "adversarial" / "operator"
KERNEL = ROOT / "tests" / "honest" / "kernels" / "centred_scale.py"
START_S = 60


def start(path: Path, *flags: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "kernelwright.judge", "serve", "--socket", str(path), *flags]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")})
    deadline = time.monotonic() + START_S
    while client.connect(str(path)) is None:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen, Path]]:
    process = start(tmp_path / "judge.sock")
    yield process, tmp_path / "judge.sock"
    processes.kill_tree(process.pid)
    process.wait()


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 10
    while any(processes.state(pid) not in "XZ" for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_client_uses_the_server_and_gets_its_errors(server, monkeypatch: pytest.MonkeyPatch) -> None:
    process, path = server
    monkeypatch.setenv(client.SOCKET_VARIABLE, str(path))
    request = JudgeRequest(str(OPERATOR), str(KERNEL), "cpu", depth="smoke")
    verdict = client.evaluate(request)
    assert verdict["status"] == "accepted", verdict["sentence"]
    assert verdict["facts"]["torch"]
    with pytest.raises(InputError, match="no workload 'none'"):
        client.evaluate(JudgeRequest(str(OPERATOR), str(KERNEL), "cpu", workloads=("none",)))
    family = processes.descendants(process.pid)
    assert len(family) >= 3  # zygote, supervisor and oracle
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert gone(family) and not path.exists()


def test_kill_9_leaves_no_process(server) -> None:
    process, path = server
    channel = client.connect(str(path))
    assert isinstance(channel, Channel)
    import json

    request = json.loads(JudgeRequest(str(OPERATOR), str(KERNEL), "cpu", samples=2000).to_json())
    channel.send({"op": "evaluate", "request": request})
    deadline = time.monotonic() + 30
    while len(processes.descendants(process.pid)) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    family = processes.descendants(process.pid)
    assert len(family) >= 5
    process.kill()
    process.wait()
    assert gone(family)


def test_a_second_server_on_a_live_socket_is_refused(server) -> None:
    _, path = server
    command = [sys.executable, "-m", "kernelwright.judge", "serve", "--socket", str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")}, check=False
    )
    assert done.returncode == 2
    assert "already listens" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_stale_socket_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "judge.sock"
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(path))
    dead.close()
    process = start(path)
    channel = client.connect(str(path))
    assert channel is not None
    assert channel.ask({"op": "ping"}, timeout_s=30)[0] == {"pong": True, "pid": process.pid}
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


def test_a_judge_that_breaks_blames_no_kernel(tmp_path: Path) -> None:
    slow = tmp_path / "kernel.py"
    slow.write_text(KERNEL.read_text() + "\n\nimport time\n\ntime.sleep(2)\n")
    service = Service()
    try:
        service.zygote.wait_ready()
        timer = threading.Timer(1.0, lambda: os.kill(service.zygote.process.pid, signal.SIGKILL))
        timer.start()
        with pytest.raises(JudgeBroken, match="nothing can be said"):
            service.evaluate(JudgeRequest(str(OPERATOR), str(slow), "cpu", depth="smoke"))
        assert service.evaluate(JudgeRequest(str(OPERATOR), str(KERNEL), "cpu", depth="smoke"))["status"] == "accepted"
    finally:
        service.close()
