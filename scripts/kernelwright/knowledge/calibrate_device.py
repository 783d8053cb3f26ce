"""Measure an accelerator once through torch: copy bandwidth by size, matrix product rates by type, the cost of a launch.

Times are of the device's own events, the best of a number of repeats. The code runs where torch.cuda does (NVIDIA and
AMD). It has no test on a device: what is tested is the arithmetic, with a fake clock.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.knowledge import platforms

METHOD = 1
REPEATS = 20
COPY_BYTES = tuple(2**power for power in range(16, 31, 2))  # 64 kB to 1 GB, read plus written
MATMUL_SIZES = (4096, 8192)
# dtype of torch, name of the fact, whether float32 may use the tf32 units
MATMULS = (
    ("bfloat16", "matmul_bf16_tflops", False),
    ("float16", "matmul_fp16_tflops", False),
    ("float32", "matmul_tf32_tflops", True),
    ("float32", "matmul_fp32_tflops", False),
    ("float8_e4m3fn", "matmul_fp8_tflops", False),
)

Clock = Callable[[Callable[[], Any]], float]  # shortest duration of a call in seconds


def host_facts(platform: platforms.Platform) -> dict[str, Any]:
    """What a calibration holds for. Raises InputError when this machine has no such device."""
    import importlib.metadata

    device = platforms.device_name(platform)
    if device is None:
        raise InputError(f"calibrate: --platform {platform.name}: this machine has no {platform.vendor} device")
    match = platforms.match_device(device, platform.vendor)
    if match != platform.name:
        raise InputError(f"calibrate: --platform {platform.name}: the device here is {device!r}, platform {match}")
    driver = platforms.tool_lines(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    known: dict[str, Any] = {
        "platform": platform.name,
        "device": device,
        "driver": driver[0] if driver else None,
        "torch": importlib.metadata.version("torch"),
        "method": METHOD,
    }
    return {"digest": hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16], **known}


def file_of(directory: Path, host: dict[str, Any]) -> Path:
    return directory / f"device-{host['platform']}-{host['digest']}.json"


def device_clock(repeats: int = REPEATS) -> Clock:
    """Shortest duration by events of the device, after three warm-up calls."""
    import torch

    def best(call: Callable[[], Any]) -> float:
        for _ in range(3):
            call()
        shortest = float("inf")
        for _ in range(repeats):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            end.synchronize()
            shortest = min(shortest, start.elapsed_time(end) / 1e3)
        return shortest

    return best


def copies(clock: Clock, device: str) -> list[dict[str, Any]]:
    """Copy bandwidth by size; small sizes are ruled by the launch and by the caches."""
    import torch

    found = []
    for size in COPY_BYTES:
        source = torch.ones(size // 8, device=device)
        target = torch.empty_like(source)
        seconds = clock(functools.partial(target.copy_, source))
        found.append({"bytes": size, "gb_s": rounded(size / seconds / 1e9)})
    return found


def product(dtype: str, size: int, device: str) -> Callable[[], Any]:
    """A call that multiplies two square matrices of a type. Raises RuntimeError or AttributeError where torch cannot."""
    import torch

    kind = getattr(torch, dtype)
    left, right = (torch.rand(size, size, device=device).to(kind) for _ in range(2))
    if not dtype.startswith("float8"):
        return lambda: torch.mm(left, right)
    scale = torch.ones((), device=device)
    columns = right.t().contiguous().t()  # the library wants the second operand by columns
    return lambda: torch._scaled_mm(left, columns, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)


def matmuls(clock: Clock, device: str) -> list[dict[str, Any]]:
    """Rate of each type and size; one that torch or the device cannot do is null, with the reason."""
    import torch

    found = []
    for dtype, fact, tf32 in MATMULS:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        for size in MATMUL_SIZES:
            row: dict[str, Any] = {"dtype": fact.split("_")[1], "size": size, "tflops": None}
            try:
                row["tflops"] = rounded(2 * size**3 / clock(product(dtype, size, device)) / 1e12)
            except (RuntimeError, AttributeError) as error:
                row["note"] = str(error).splitlines()[0][:200]
            found.append(row)
    return found


def launch_us(clock: Clock, device: str) -> float:
    """Time of a kernel that adds to one element, microseconds."""
    import torch

    one = torch.zeros(1, device=device)
    return rounded(clock(lambda: one.add_(1)) * 1e6)


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def facts_of(
    copy_rows: list[dict[str, Any]], matmul_rows: list[dict[str, Any]], launch: float, source: str
) -> dict[str, Any]:
    """The best of each as facts."""

    def fact(value: float | None, how: str) -> dict[str, Any]:
        return {"value": value, "source": f"{how}, {source}", "confidence": "unknown" if value is None else "measured"}

    found = {
        "copy_bandwidth_gb_s": fact(
            max(row["gb_s"] for row in copy_rows), "copy on the device, bytes read and written"
        ),
        "launch_us": fact(launch, "kernel of one element between two events"),
    }
    for dtype in dict.fromkeys(row["dtype"] for row in matmul_rows):
        values = [row["tflops"] for row in matmul_rows if row["dtype"] == dtype and row["tflops"] is not None]
        found[f"matmul_{dtype}_tflops"] = fact(max(values, default=None), f"square {dtype} matrix product")
    return found


def measure(host: dict[str, Any], clock: Clock, device: str = "cuda") -> dict[str, Any]:
    """Body of device_calibration."""
    started = time.monotonic()
    copy_rows, matmul_rows, launch = copies(clock, device), matmuls(clock, device), launch_us(clock, device)
    source = f"best of {REPEATS}, {host['device']}, torch {host['torch']}"
    return {
        "host": host,
        "facts": facts_of(copy_rows, matmul_rows, launch, source),
        "copy_by_size": copy_rows,
        "matmul": matmul_rows,
        "settings": {"repeats": REPEATS},
        "duration_s": round(time.monotonic() - started, 2),
    }


def measure_in_child(platform: str, path: Path) -> None:
    """Run this module in a process of its own, so that the caller never imports torch. Raises KernelwrightError."""
    command = [
        sys.executable,
        "-m",
        "kernelwright.knowledge.calibrate_device",
        "--platform",
        platform,
        "--output",
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not path.is_file():
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KernelwrightError(f"calibration of {platform} failed ({last})")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernelwright.knowledge.calibrate_device", description=__doc__)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    import torch

    host = host_facts(platforms.load(arguments.platform))
    torch.set_grad_enabled(False)
    artifacts.write(
        arguments.output, "device_calibration", measure(host, device_clock()), platform=host["platform"],
        device=host["device"], driver=host["driver"], torch=host["torch"],
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
