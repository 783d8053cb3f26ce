from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter

import pytest
from kernelwright.judge import places, policy
from kernelwright.judge.faults import Fault
from kernelwright.sandbox import processes

SITE = f"{sys.prefix}/lib/python3/site-packages"


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        (f"{SITE}/torch/lib/libtorch_cpu.so", "library"),
        (f"{SITE}/torch/lib/libtorch_python.so", "other"),
        (f"{SITE}/torch/lib/libc10.so", "other"),
        (f"{SITE}/numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so", "library"),
        ("/usr/lib/x86_64-linux-gnu/libopenblas.so.0", "library"),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", "other"),
        ("[vdso]", "other"),
        ("/tmp/kernelwright-judge-x/build/extensions/k/k.so", "own"),
        ("", "other"),
        ("/memfd:code (deleted)", "own"),
    ],
)
def test_code_belongs_to_the_file_it_was_mapped_from(path: str, owner: str) -> None:
    assert places.whose(path) == owner


def test_threads_of_a_stopped_process_are_found() -> None:
    text = (
        "import threading\nthreading.Thread(target=lambda: sum(range(10**12)), daemon=True).start()\nsum(range(10**12))"
    )
    process = subprocess.Popen([sys.executable, "-c", text])
    try:
        time.sleep(0.5)
        assert processes.stop(process.pid)
        tasks = list(places.worked_ns(process.pid))
        found = places.owners(process.pid, tasks)
        if not found:
            pytest.skip("this machine does not tell where a process stands")
        assert len(tasks) == 2 and set(found) == {"other"}
    finally:
        os.kill(process.pid, 9)
        process.wait()


def test_few_moments_say_nothing_and_many_say_whose_work_it_is() -> None:
    assert places.own_share(Counter(own=3, library=2, other=500)) is None
    assert places.own_share(Counter(own=15, library=5)) == pytest.approx(0.75)
    assert not places.mostly_library(Counter(own=5, library=5)) and not places.mostly_library(Counter(library=6))
    assert places.mostly_library(Counter(library=7)) and places.mostly_library(Counter(own=10, library=60))


def test_production_believes_what_was_seen_and_not_what_the_process_says() -> None:
    forged = {"rows": [["kernelwright", 10.0, 1]], "modules": ["torch"]}
    share, evidence = policy.judge(forged, "cpp", "leaderboard", seen=Counter(own=5, library=45, other=9))
    assert share == pytest.approx(0.1) and "45 in libraries" in evidence[1]
    with pytest.raises(Fault) as caught:
        policy.judge(forged, "cpp", "production", seen=Counter(own=5, library=45))
    assert caught.value.reason == "library_fallback"
