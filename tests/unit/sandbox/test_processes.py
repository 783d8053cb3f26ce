from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest
from kernelwright.sandbox import linux, processes

TREE = "import subprocess, sys, time; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); time.sleep(60)"


@pytest.fixture
def family():
    process = subprocess.Popen([sys.executable, "-c", TREE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    yield process, child
    processes.kill_tree(process.pid)
    process.wait()
    process.stdout.close()


def test_stop_and_resume(family) -> None:
    process, _ = family
    assert processes.stop(process.pid)
    assert processes.state(process.pid) == "T"
    processes.resume(process.pid)
    assert processes.state(process.pid) != "T"


def test_descendants_and_kill_tree(family) -> None:
    process, child = family
    assert processes.descendants(process.pid) == [child]
    processes.kill_tree(process.pid)
    process.wait(5)
    assert processes.state(child) in "XZ"


def test_a_process_that_is_gone_is_no_error() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert processes.state(process.pid) == "X"
    assert not processes.stop(process.pid, 0.1)
    assert processes.descendants(process.pid) == []
    processes.resume(process.pid)
    processes.kill_tree(process.pid)


def test_memory_of_another_process_is_read_and_a_bad_address_is_an_error(family) -> None:
    code = "import ctypes, time; b = ctypes.create_string_buffer(b'secret'); print(ctypes.addressof(b), flush=True); time.sleep(60)"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    address = int(other.stdout.readline())
    target = ctypes.create_string_buffer(6)
    linux.read_memory(other.pid, address, ctypes.addressof(target), 6)
    assert target.raw == b"secret"
    with pytest.raises(OSError):
        linux.read_memory(other.pid, 8, ctypes.addressof(target), 6)
    other.kill()
    other.wait()
    other.stdout.close()
