"""Measure a kernel on workloads in this process, which runs candidate code: `python -m kernelwright.profilers.child`.

Wall time per call with all threads and with one, torch.profiler's operator counts and times, page faults per call, and
what one dispatched operator and one page fault cost on this machine. Works on `cpu` and on `cuda` (NVIDIA and AMD).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli, operators

MIN_CALLS, MAX_CALLS = 5, 200
BUDGET_S = 0.3  # per timed loop
PROFILED_CALLS = 5
FAULT_BYTES = 16 << 20
PAGE_BYTES = 4096


def timed_us(call: Callable[[], Any], synchronise: Callable[[], None]) -> float:
    """Median wall time of a call in microseconds, after one warm-up."""
    call()
    synchronise()
    samples: list[float] = []
    end = time.perf_counter() + BUDGET_S
    while len(samples) < MIN_CALLS or (len(samples) < MAX_CALLS and time.perf_counter() < end):
        start = time.perf_counter()
        call()
        synchronise()
        samples.append((time.perf_counter() - start) * 1e6)
    return statistics.median(samples)


def faults_per_call(call: Callable[[], Any], calls: int = 5) -> float:
    """Minor page faults of a call once the allocator is warm, averaged; each output is dropped before the next call."""
    import resource

    call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        call()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / calls


def fault_cost_us() -> float:
    """Cost of the first touch of one 4 kB page: writing a byte of each page of fresh memory against writing it again.

    The least of a few rounds: in a virtual machine the very first touch of a page also faults in the host.
    """
    import mmap

    costs = []
    for _ in range(4):
        with mmap.mmap(-1, FAULT_BYTES) as memory:
            if hasattr(mmap, "MADV_NOHUGEPAGE"):
                memory.madvise(mmap.MADV_NOHUGEPAGE)
            first, second = _touch_us(memory), _touch_us(memory)
            costs.append(max(0.0, first - second) / (FAULT_BYTES / PAGE_BYTES))
    return min(costs)


def _touch_us(memory: Any) -> float:
    start = time.perf_counter()
    for offset in range(0, FAULT_BYTES, PAGE_BYTES):
        memory[offset] = 1
    return (time.perf_counter() - start) * 1e6


def operators_of(call: Callable[[], Any], synchronise: Callable[[], None], device: str) -> dict[str, Any]:
    """torch.profiler over a few calls: operators dispatched per call and the hottest by their own time."""
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with profile(activities=activities) as found:
        for _ in range(PROFILED_CALLS):
            call()
        synchronise()
    events = [event for event in found.key_averages() if not event.key.startswith("ProfilerStep")]
    own = "self_device_time_total" if device == "cuda" else "self_cpu_time_total"
    rows = [
        {
            "name": event.key,
            "time_us": getattr(event, own) / PROFILED_CALLS,
            "calls": max(1, event.count // PROFILED_CALLS),
        }
        for event in events
        if getattr(event, own) > 0
    ]
    count = sum(event.count for event in events if event.key.startswith(("aten::", "cuda", "hip"))) / PROFILED_CALLS
    return {"operators": count, "hot": sorted(rows, key=lambda row: -row["time_us"])[:12]}


def dispatch_cost_us() -> float:
    """Time of one operator on one element: dispatch, allocation and nothing else."""
    import torch

    one = torch.ones(1)
    return timed_us(lambda: [torch.neg(one) for _ in range(20)], lambda: None) / 20


def measure_workload(runtime: Any, module: Any, workload_id: str, device: str) -> dict[str, Any]:
    """Raw figures of one workload."""
    import torch

    workload = runtime.operator.workload(workload_id)
    inputs = runtime.build_inputs(workload, seed=0, device=device)
    kernel = runtime.candidate(module, workload, device)
    synchronise = torch.cuda.synchronize if device == "cuda" else lambda: None

    def call() -> Any:
        return kernel.raw(inputs)

    threads = torch.get_num_threads()
    figures: dict[str, Any] = {"latency_us": timed_us(call, synchronise), "threads": threads}
    if device == "cpu":  # before the profiler, whose buffers disturb the allocator
        figures["page_faults"] = faults_per_call(call)
        torch.set_num_threads(1)
        figures["one_thread_us"] = timed_us(call, synchronise)
        torch.set_num_threads(threads)
    figures |= operators_of(call, synchronise, device)
    return figures


def measure(operator_dir: Path, kernel: Path, workloads: list[str], device: str) -> dict[str, Any]:
    """{workloads: id -> figures, dispatch_us, fault_us}."""
    import torch

    from kernelwright.operators.runtime import Runtime, import_file

    runtime = Runtime(operators.load(operator_dir))
    module = import_file(kernel, "_kernelwright_profiled")
    with torch.no_grad():
        found = {key: measure_workload(runtime, module, key, device) for key in workloads}
    return {
        "workloads": found,
        "dispatch_us": dispatch_cost_us(),
        "fault_us": fault_cost_us() if device == "cpu" else None,
        "torch": torch.__version__,
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernelwright.profilers.child", description=__doc__)
    parser.add_argument("--operator-dir", type=Path, required=True)
    parser.add_argument("--kernel", type=Path, required=True)
    parser.add_argument("--workloads", nargs="+", required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(argv)
    artifacts.write_text(args.output, json.dumps(measure(args.operator_dir, args.kernel, args.workloads, args.device)))
    return 0


if __name__ == "__main__":
    sys.exit(cli.step(main)())
