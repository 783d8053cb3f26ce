"""Call a kernel a few times for a tool that watches this process: `python -m kernelwright.profilers.once`.

Everything before the marked region (import, compilation, warm-up) is outside of what a tool should count: on a GPU the
region is marked by the CUDA profiler's start and stop, on a CPU by `enable` and `disable` in perf's control file.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kernelwright import cli, operators

WARM_CALLS = 3


@contextlib.contextmanager
def region(device: str, control: Path | None, acknowledge: Path | None) -> Iterator[None]:
    """The calls that count."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        yield
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
    elif control is not None and acknowledge is not None:
        with control.open("w") as orders, acknowledge.open() as answers:
            tell(orders, answers, "enable")
            yield
            tell(orders, answers, "disable")
    else:
        yield


def tell(orders: Any, answers: Any, word: str) -> None:
    """One order to perf, and its answer."""
    orders.write(f"{word}\n")
    orders.flush()
    answers.readline()


def prepared(operator_dir: Path, kernel: Path, workload_id: str, device: str) -> Callable[[], Any]:
    """A call of the kernel on one workload."""
    from kernelwright.operators.runtime import Runtime, import_file

    runtime = Runtime(operators.load(operator_dir))
    workload = runtime.operator.workload(workload_id)
    inputs = runtime.build_inputs(workload, seed=0, device=device)
    candidate = runtime.candidate(import_file(kernel, "_kernelwright_profiled"), workload, device)
    return lambda: candidate.raw(inputs)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernelwright.profilers.once", description=__doc__)
    parser.add_argument("--operator-dir", type=Path, required=True)
    parser.add_argument("--kernel", type=Path, required=True)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--calls", type=int, default=1)
    parser.add_argument("--control", type=Path, help="perf's control file")
    parser.add_argument("--acknowledge", type=Path, help="where perf answers")
    args = parser.parse_args(argv)
    import torch

    with torch.no_grad():
        call = prepared(args.operator_dir, args.kernel, args.workload, args.device)
        for _ in range(WARM_CALLS):
            call()
        with region(args.device, args.control, args.acknowledge):
            for _ in range(args.calls):
                call()
    return 0


if __name__ == "__main__":
    sys.exit(cli.step(main)())
