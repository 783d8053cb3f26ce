"""Measure this machine's processor once and keep the result: bandwidths, peak rates, call cost, cache sizes.

The figures serve as floors, so each is the best seen, never an average: a floor that an honest kernel can beat would
reject it. Bandwidth is the best of a copy, a sum and a fill, for three working sets: half of the cores' own caches,
half of the last-level cache, and four times the last-level cache. Bytes read and written both count.

`facts()` reads the cached file or measures in a child process, so a caller never imports torch.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform as host_platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.errors import KernelwrightError

METHOD = 1  # raise it when the way of measuring changes, so that old files are not read
SECONDS_PER_SIZE = 0.6
MATMUL_SIZE = 1024
FALLBACK_CACHE_BYTES = 32 * 2**20  # only sizes the measurement when the system has no cache table; never a fact
KIB = 1024


def cache_dir() -> Path:
    """Where calibrations are kept: $KERNELWRIGHT_CACHE, else the user's cache folder."""
    given = os.environ.get("KERNELWRIGHT_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelwright"


def facts(directory: Path | None = None) -> dict[str, dict[str, Any]]:
    """Measured facts of this machine, from the cache or measured now (some seconds). Raises KernelwrightError."""
    host = host_facts()
    path = (directory or cache_dir()) / f"calibration-{host['digest']}.json"
    if not path.is_file():
        from filelock import FileLock

        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):  # two campaigns that start together measure once
            if not path.is_file():
                measure_in_child(path)
    return artifacts.read(path, "calibration")["facts"]


def measure_in_child(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kernelwright.knowledge.calibrate", "--output", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or not path.is_file():
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KernelwrightError(f"calibration of this machine failed ({last})")


def host_facts() -> dict[str, Any]:
    """What a calibration holds for, with a digest of it all."""
    from kernelwright.knowledge import platforms

    caches = cache_table()
    known: dict[str, Any] = {
        "node": host_platform.node(),
        "processor": platforms.cpu_name(),
        "cores": core_count(),
        "last_level_cache_bytes": last_level_bytes(caches),
        "private_cache_bytes": private_bytes(caches),
        "torch": importlib.metadata.version("torch"),
        "method": METHOD,
    }
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
    return {"digest": digest, **known}


def core_count() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cache_table(root: Path = Path("/sys/devices/system/cpu")) -> dict[tuple[int, str], int]:
    """(level, cores that share it) -> bytes, for data and unified caches of the cores this process may use."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(core_count())
    table: dict[tuple[int, str], int] = {}
    for core in cores:
        for entry in sorted((root / f"cpu{core}" / "cache").glob("index*")):
            try:
                kind, level, size, shared = (
                    (entry / name).read_text().strip() for name in ("type", "level", "size", "shared_cpu_list")
                )
            except OSError:
                continue
            if kind != "Instruction" and size.endswith("K"):
                table[int(level), shared] = int(size[:-1]) * KIB
    return table


def last_level_bytes(table: dict[tuple[int, str], int]) -> int | None:
    """All caches of the highest level together."""
    levels = [level for level, _ in table]
    return sum(size for (level, _), size in table.items() if level == max(levels)) if levels else None


def private_bytes(table: dict[tuple[int, str], int]) -> int | None:
    """All second-level caches together, when there is a level above them."""
    sizes = [size for (level, _), size in table.items() if level == 2]
    return sum(sizes) if sizes and any(level > 2 for level, _ in table) else None


def best_seconds(call: Callable[[], Any], budget_s: float, least: int = 5) -> float:
    """Shortest duration of one call within a time budget, after a warm-up call."""
    call()
    best, end, runs = float("inf"), time.perf_counter() + budget_s, 0
    while runs < least or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        runs += 1
    return best


def bandwidth_gb_s(working_set_bytes: int, budget_s: float) -> float:
    """Best of copy (reads and writes), sum (reads) and fill (writes) over a working set, GB/s."""
    import torch

    count = max(working_set_bytes // 8, 1024)
    source, target = torch.ones(count), torch.zeros(count)  # together the working set
    whole = torch.ones(2 * count)
    repeats = max(1, 2**20 // working_set_bytes)  # several calls a sample when one is shorter than the clock is fine

    def times(call: Callable[[], Any]) -> float:
        return best_seconds(lambda: [call() for _ in range(repeats)], budget_s / 3) / repeats

    copy = 8 * count / times(lambda: target.copy_(source))
    read = 8 * count / times(whole.sum)
    fill = 8 * count / times(lambda: whole.fill_(1.0))
    return max(copy, read, fill) / 1e9


def matmul_tflops(dtype_name: str, budget_s: float) -> float:
    """Best rate of a square matrix product, TFLOP/s."""
    import torch

    dtype = getattr(torch, dtype_name)
    left, right = (torch.rand(MATMUL_SIZE, MATMUL_SIZE).to(dtype) for _ in range(2))
    out = torch.empty(MATMUL_SIZE, MATMUL_SIZE, dtype=dtype)
    seconds = best_seconds(lambda: torch.mm(left, right, out=out), budget_s)
    return 2 * MATMUL_SIZE**3 / seconds / 1e12


def call_us(budget_s: float) -> float:
    """Best duration of one call that allocates a one-element tensor, microseconds."""
    import torch

    repeats = 200
    return best_seconds(lambda: [torch.empty(1) for _ in range(repeats)], budget_s) / repeats * 1e6


def measure(host: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """All facts of this machine; takes some seconds."""
    threads = f"{host['cores']} threads, torch {host['torch']}, best seen"
    last_level, private = host["last_level_cache_bytes"], host["private_cache_bytes"]
    beyond = 4 * (last_level or FALLBACK_CACHE_BYTES)

    def fact(value: float | None, source: str) -> dict[str, Any]:
        digits = None if value is None else float(f"{value:.4g}") if isinstance(value, float) else value
        return {"value": digits, "source": source, "confidence": "unknown" if value is None else "measured"}

    def bandwidth(size: int | None) -> dict[str, Any]:
        if size is None:
            return fact(None, "the operating system gives no size of this cache")
        return fact(bandwidth_gb_s(size, SECONDS_PER_SIZE), f"copy, sum and fill over {size} bytes, {threads}")

    def peak(dtype: str) -> dict[str, Any]:
        return fact(matmul_tflops(dtype, SECONDS_PER_SIZE), f"{MATMUL_SIZE}^3 {dtype} matmul, {threads}")

    return {
        "memory_bandwidth_gb_s": bandwidth(beyond),
        "cache_bandwidth_gb_s": bandwidth(last_level and last_level // 2),
        "private_cache_bandwidth_gb_s": bandwidth(private and private // 2),
        "last_level_cache_bytes": fact(last_level, "cache table of the operating system"),
        "private_cache_bytes": fact(private, "cache table of the operating system, second level of all cores"),
        "peak_fp32_tflops": peak("float32"),
        "peak_bf16_tflops": peak("bfloat16"),
        "launch_us": fact(call_us(SECONDS_PER_SIZE / 2), "torch.empty(1), best seen"),
        "compute_units": fact(host["cores"], "cores the process may run on"),
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright.knowledge.calibrate", description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="calibration file to write")
    arguments = parser.parse_args(argv)
    import torch

    started = time.monotonic()
    host = host_facts()
    torch.set_num_threads(host["cores"])
    body = {
        "host": host,
        "facts": measure(host),
        "settings": {"threads": torch.get_num_threads(), "seconds_per_size": SECONDS_PER_SIZE},
        "duration_s": round(time.monotonic() - started, 2),
    }
    artifacts.write(arguments.output, "calibration", body, torch=torch.__version__, device=host["processor"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
