"""The Triton templates on a GPU: are they right, and how fast beside eager, torch.compile and what the hardware allows.

    python benchmarks/triton_templates.py [--operators rms_norm ...] [--sets 16] [--workloads 4] [--output table.json]

For every operator: its reference is recognised, some parameter sets are rendered, each is compared with the reference
(in float64 where that fits), then eager, torch.compile (static shapes) and the right kernels are timed. A time is the
median of CUDA events around single calls: the L2 cache is overwritten before each, and a sleep on the device lets the
host run ahead, so that its part does not count. Share is the floor over the time; the floor is the largest of bytes
over the copy bandwidth, operations over the matrix rate (twice that for 8-bit floats) and the time of an empty kernel.
Compilation runs first, one process per operator, so that nothing is timed while something else is at work.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

COPY_BYTES_PER_S, MATRIX_FLOPS, LAUNCH_US = 4.3e12, 790e12, 4.2
LONG_US = 2000.0  # floor above which fewer calls are timed
LARGEST_BYTES = 2 << 30  # of inputs and outputs of a workload that is tried
FLOAT64_BYTES = 64 << 20  # above this the reference runs in its own precision
LIMITS = {"bfloat16": 1 / 100, "float16": 1 / 400, "float32": 2e-3, "float8_e4m3fn": 1 / 13}  # of the largest value
NO_TIME = "no time left"
SLEEP_CYCLES = 400_000
FLUSH_SHARE = 1.3  # of the L2 cache


def floor_us(traffic: dict[str, Any], dtypes: set[str]) -> float:
    """Least time in microseconds of a workload with this traffic."""
    rate = MATRIX_FLOPS * (2 if any(dtype.startswith("float8") for dtype in dtypes) else 1)
    bytes_moved = traffic["read_bytes"] + traffic["write_bytes"]
    return max(bytes_moved / COPY_BYTES_PER_S * 1e6, (traffic["flops"] or 0) / rate * 1e6, LAUNCH_US)


def spread(operator: Any, number: int) -> list[tuple[Any, dict[str, Any]]]:
    """`number` workloads of the published ones from the smallest to the largest that fits, with their traffic."""
    from kernelwright import specs

    published = [key for key in operator.workloads if not key.startswith("cpu_")]
    work = specs.traffic(operator, published)
    sized = sorted((found["read_bytes"] + found["write_bytes"], key) for key, found in work.items())
    fitting = [key for size, key in sized if size <= LARGEST_BYTES]
    places = sorted({round(i * (len(fitting) - 1) / max(1, number - 1)) for i in range(number)})
    return [(operator.workload(fitting[place]), work[fitting[place]]) for place in places]


def kernels(operator: Any, recognised: dict[str, Any], number: int) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(template, parameters, text) of the first `number` sets of each matching template."""
    from kernelwright.search import space, templates
    from kernelwright.search.templates.base import Facts

    for match in recognised["matches"]:
        template = templates.get(match["template"])
        for parameters in islice(space.walk(template.SPACE, "0/benchmark"), number):
            text = template.render(Facts.from_json(recognised["facts"]), match["semantics"], parameters)
            yield template.NAME, parameters, text


def wide(inputs: dict[str, Any]) -> dict[str, Any]:
    import torch

    return {
        name: value.double()
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.element_size() > 1
        else value
        for name, value in inputs.items()
    }


def expected(operator: Any, runtime: Any, workload: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The reference's outputs on a copy of the inputs, in float64 where it is small and its rounding is no part of it."""
    import torch

    size = sum(value.nbytes for value in inputs.values() if isinstance(value, torch.Tensor))
    exact = size <= FLOAT64_BYTES and operator.oracle != "float32" and not operator.mutates
    given = wide(inputs) if exact else copy.deepcopy(inputs) if operator.mutates else inputs
    with torch.no_grad():
        found: dict[str, Any] = runtime.reference(workload, "cuda")(**given)
    return found


def error(found: dict[str, Any], wanted: dict[str, Any]) -> float:
    """Largest error over its limit: at most 1 is right. Shapes must agree; NaN is wrong."""
    worst = 0.0
    for name, want in wanted.items():
        have = found[name]
        if have.shape != want.shape:
            return math.inf
        if not have.is_floating_point():
            worst = max(worst, float((have != want).double().mean()) * 1e6)
            continue
        largest = max(float(want.float().abs().max()), 1e-30)
        parts = zip(have.split(4096), want.split(4096), strict=True)
        off = [float((a.float() - b.float()).abs().max()) for a, b in parts]
        if not all(map(math.isfinite, off)):
            return math.inf
        worst = max(worst, max(off) / largest / LIMITS[str(have.dtype).removeprefix("torch.")])
    return worst


def device_us(call: Callable[[], Any], samples: int) -> float:
    """Median device time of one call in microseconds."""
    import torch

    properties = torch.cuda.get_device_properties(0)
    flush = torch.empty(int(FLUSH_SHARE * properties.L2_cache_size), dtype=torch.int8, device="cuda")
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    pairs = []
    for _ in range(samples):
        torch.cuda._sleep(SLEEP_CYCLES)
        flush.zero_()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        pairs.append((start, end))
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) * 1000 for start, end in pairs)


def host_us(call: Callable[[], Any], calls: int = 50) -> float:
    """Wall time of a call's launch in microseconds, the device's part hidden behind the queue."""
    import torch

    torch.cuda.synchronize()
    times = []
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    torch.cuda.synchronize()
    return statistics.median(times)


def compiled_call(runtime: Any, workload: Any, inputs: dict[str, Any]) -> Callable[[], Any]:
    import torch

    torch._dynamo.reset()
    callee = runtime.reference(workload, "cuda")
    callee.function = torch.compile(callee.function, dynamic=False)
    return lambda: callee.raw(inputs)


def scaled_mm(inputs: dict[str, Any]) -> Callable[[], Any]:
    """torch's own product of 8-bit floats scaled by blocks, which rounds its output to bfloat16."""
    import torch

    a, b, a_scales, b_scales = inputs.values()
    rows, columns = a_scales.t().contiguous().t(), b_scales.contiguous().t()  # outer dimension first, as it wants them
    return lambda: torch._scaled_mm(a, b.t(), scale_a=rows, scale_b=columns, out_dtype=torch.bfloat16)


LIBRARY = {"block_scaled_mm": scaled_mm}  # what torch has beside the reference's own operators


def lower(operator: Any, folder: Path) -> None:
    """Inductor's lowering as one more kernel; why there is none goes to stderr."""
    from kernelwright.errors import KernelwrightError
    from kernelwright.search import inductor

    path = folder / f"{operator.name}_inductor.py"
    path.unlink(missing_ok=True)
    try:
        path.write_text(inductor.lower(operator, list(operator.workloads), "triton", "leaderboard"))
    except KernelwrightError as problem:
        print(f"{operator.name}: no lowering: {problem}", file=sys.stderr)


def attempts(operator: Any, folder: Path, number: int) -> list[tuple[str, dict[str, Any], Any]]:
    """(template, parameters, module) of every kernel to try."""
    from kernelwright.operators.runtime import import_file
    from kernelwright.search import recognise

    kept = folder / f"recognised-{operator.name}.json"
    if not kept.is_file():
        kept.write_text(json.dumps(recognise.recognise(operator, "triton")))
    found = []
    for index, (template, parameters, text) in enumerate(kernels(operator, json.loads(kept.read_text()), number)):
        path = folder / f"{operator.name}_{index}.py"
        path.write_text(text)
        found.append((template, parameters, import_file(path, path.stem)))
    path = folder / f"{operator.name}_inductor.py"
    if path.is_file():
        found.append(("inductor", {}, import_file(path, path.stem)))
    return found


def warm(operator: Any, folder: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Compile and check everything: one row for each kernel and workload, `error` above 1 or a message when it fails."""
    from kernelwright.operators.runtime import Runtime

    runtime, rows = Runtime(operator), []
    begin = time.monotonic()
    cases = []
    for workload, _ in spread(operator, args.workloads):
        inputs = runtime.build_inputs(workload, seed=3, device="cuda")
        cases.append((workload, inputs, expected(operator, runtime, workload, inputs)))
    for workload, inputs, _ in cases if args.compile else []:
        try:
            compiled_call(runtime, workload, inputs)()
        except Exception as problem:
            print(f"{operator.name} {workload.id}: torch.compile: {type(problem).__name__}", file=sys.stderr)
    lower(operator, folder)
    tried = sorted(enumerate(attempts(operator, folder, args.sets)), key=lambda entry: entry[1][0] != "inductor")
    for index, (template, parameters, module) in tried:
        for case in cases:
            row = {"workload": case[0].id, "kernel": index, "template": template, "parameters": parameters}
            if time.monotonic() - begin > args.warm_seconds:
                rows.append({**row, "error": None, "message": NO_TIME})
            else:
                rows.append({**row, **checked(operator, runtime, module, *case)})
    return rows


def checked(
    operator: Any, runtime: Any, module: Any, workload: Any, inputs: dict[str, Any], wanted: dict[str, Any]
) -> dict[str, Any]:
    import torch

    given = copy.deepcopy(inputs) if operator.mutates else inputs
    try:
        found = runtime.candidate(module, workload, "cuda")(**given)
        torch.cuda.synchronize()
        return {"error": error(found, wanted), "message": None}
    except Exception as problem:
        return {"error": None, "message": f"{type(problem).__name__}: {str(problem)[-300:]}"}


def timed(
    operator: Any, folder: Path, rows_checked: list[dict[str, Any]], args: argparse.Namespace
) -> list[dict[str, Any]]:
    """One row for each workload: microseconds of eager, torch.compile and every right kernel, and the floor."""
    from kernelwright.operators.runtime import Runtime

    runtime = Runtime(operator)
    tried = attempts(operator, folder, args.sets)
    right = {(row["workload"], row["kernel"]) for row in rows_checked if row["error"] is not None and row["error"] <= 1}
    dtypes = {str(declared["dtype"]) for declared in operator.inputs.values()}
    rows = []
    for workload, traffic in spread(operator, args.workloads):
        kept = [(index, *entry) for index, entry in enumerate(tried) if (workload.id, index) in right]
        floor = floor_us(traffic, dtypes)
        samples = args.samples if floor < LONG_US else max(5, args.samples // 4)
        row = {"operator": operator.name, "workload": workload.id, "traffic": traffic, "floor_us": floor}
        rows.append(row | baselines(operator, runtime, workload, samples, args.compile))
        rows[-1] |= candidates(runtime, workload, kept, samples)
    return rows


def baselines(operator: Any, runtime: Any, workload: Any, samples: int, compiled: bool) -> dict[str, Any]:
    """Eager, torch.compile and, where there is one, torch's own operator."""
    inputs = runtime.build_inputs(workload, seed=3, device="cuda")
    reference = runtime.reference(workload, "cuda")
    row: dict[str, Any] = {"eager_us": device_us(lambda: reference.raw(inputs), samples), "compile_us": None}
    ways: dict[str, Callable[[], Callable[[], Any]]] = {}
    if compiled:
        ways["compile"] = lambda: compiled_call(runtime, workload, inputs)
    if operator.name in LIBRARY:
        ways["library"] = lambda: LIBRARY[operator.name](inputs)
    for name, way in ways.items():
        try:
            row[f"{name}_us"] = device_us(way(), samples)
        except Exception as problem:
            row[f"{name}_message"] = f"{type(problem).__name__}: {str(problem)[:300]}"
    return row


def candidates(
    runtime: Any, workload: Any, kept: list[tuple[int, str, dict[str, Any], Any]], samples: int
) -> dict[str, Any]:
    """Times of all right kernels, and the fastest with its parameters and the host's part of a call."""
    inputs = runtime.build_inputs(workload, seed=3, device="cuda")
    calls = {}
    for index, _, _, module in kept:
        candidate = runtime.candidate(module, workload, "cuda")
        calls[index] = lambda candidate=candidate: candidate.raw(inputs)
    times = {index: device_us(call, samples) for index, call in calls.items()}
    row: dict[str, Any] = {"kernels_us": times}
    if times:
        best = min(times, key=times.__getitem__)
        template, parameters = next((name, given) for index, name, given, _ in kept if index == best)
        row |= {"best_us": times[best], "template": template, "parameters": parameters, "host_us": host_us(calls[best])}
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """One line a workload, then the geometric mean of the speedups over the better of eager and torch.compile."""
    names = ("floor", "eager", "compile", "best", "x", "share", "host")
    lines = [f"{'operator':26} {'workload':>8} {'MB':>8}" + "".join(f" {name:>8}" for name in names) + "  kernel"]
    ratios: dict[str, list[float]] = {}
    for row in rows:
        best = row.get("best_us")
        rival = min(row[name] for name in ("eager_us", "compile_us") if row[name] is not None)
        if best:
            ratios.setdefault(row["operator"], []).append(rival / best)
        megabytes = (row["traffic"]["read_bytes"] + row["traffic"]["write_bytes"]) / 1e6
        values = [row["floor_us"], row["eager_us"], row["compile_us"], best]
        text = "".join(f" {'-':>8}" if value is None else f" {value:8.1f}" for value in values)
        if best:
            text += f" {rival / best:8.2f} {row['floor_us'] / best:8.1%} {row['host_us']:8.1f}  {row['template']} "
            text += ",".join(f"{key}={value}" for key, value in row["parameters"].items())
        library = f" library={row['library_us']:.1f}" if "library_us" in row else ""
        lines.append(f"{row['operator']:26} {row['workload']:>8} {megabytes:8.1f}{text}{library}")
    lines += [f"{name:26} geomean {statistics.geometric_mean(found):.2f}x" for name, found in ratios.items()]
    if ratios:
        every = [ratio for found in ratios.values() for ratio in found]
        lines.append(f"{'all':26} geomean {statistics.geometric_mean(every):.2f}x")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    from kernelwright import paths

    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = sorted(path.name for path in paths.operators_dir().iterdir() if path.is_dir())
    found.add_argument("--operators", nargs="+", default=known, choices=known)
    found.add_argument("--sets", type=int, default=16, help="parameter sets of a template")
    found.add_argument("--workloads", type=int, default=4, help="of each operator")
    found.add_argument("--samples", type=int, default=20, help="timed calls")
    found.add_argument("--warm-seconds", type=float, default=600.0, help="after which no further kernel is compiled")
    found.add_argument("--no-compile", dest="compile", action="store_false", help="leave torch.compile out")
    found.add_argument("--folder", type=Path, default=Path("triton_templates"), help="kernels and what was recognised")
    found.add_argument("--output", type=Path, default=Path("triton_templates.json"))
    found.add_argument("--phase", choices=("all", "warm"), default="all", help=argparse.SUPPRESS)
    return found


def checks(args: argparse.Namespace, given: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Operator -> rows of its check, all operators at once in processes of their own."""
    children = {}
    for name in args.operators:
        output = args.folder / f"checked-{name}.json"
        output.unlink(missing_ok=True)
        command = [sys.executable, __file__, *given, "--phase", "warm", "--operators", name, "--output", str(output)]
        children[name] = (subprocess.Popen(command), output)
    found = {}
    for name, (process, output) in children.items():
        process.wait()
        if not output.is_file():
            print(f"{name}: the check failed", file=sys.stderr)
            continue
        found[name] = json.loads(output.read_text())
        for row in found[name]:
            if row["message"] != NO_TIME and (row["error"] is None or row["error"] > 1):
                why = row["message"] or f"error {row['error']:.2f} of its limit"
                print(f"{name} {row['workload']} {row['template']} {row['parameters']}: {why}", file=sys.stderr)
    return found


def main(argv: list[str] | None = None) -> int:
    import torch
    from kernelwright import operators, paths

    given = sys.argv[1:] if argv is None else argv
    args = parser().parse_args(given)
    if not torch.cuda.is_available():
        print("no CUDA device: the Triton templates are not measured")
        return 0
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.phase == "warm":
        (name,) = args.operators
        args.output.write_text(json.dumps(warm(operators.load(paths.operators_dir() / name), args.folder, args)))
        return 0
    rows: list[dict[str, Any]] = []
    for name, found in checks(args, given).items():
        rows += timed(operators.load(paths.operators_dir() / name), args.folder, found, args)
        args.output.write_text(json.dumps(rows, indent=1))
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
