"""How fast the judge is on this machine's GPU: cold, warm and smoke, and beside a process per workload.

    python benchmarks/judge_gpu.py [--platform h200] [--repeats 3] [--rival 3] [--workloads IDS] [--profile]

The work: all published workloads of rms_norm, 3 secret seeds, 30 timed samples of candidate and reference each. The
rival does less (one seed, torch's events) in a new process per workload; it is measured on --rival of them, and the
total is that mean times the number of workloads, said so in the output.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kernelwright import operators, paths
from kernelwright.judge.request import JudgeRequest
from kernelwright.judge.service import Service

ROOT = Path(__file__).resolve().parents[1]
CANDIDATE = ROOT / "tests" / "gpu" / "honest" / "rms_norm_triton.py"
RIVAL = """
import sys, json, torch, triton
sys.path[:0] = sys.argv[1:3]
from kernelwright import operators
from kernelwright.operators.runtime import Runtime, import_file
from pathlib import Path
operator = operators.load(Path(sys.argv[2])); workload = operator.workload(sys.argv[4]); runtime = Runtime(operator)
inputs = runtime.build_inputs(workload, 1, "cuda"); reference = runtime.reference(workload, "cuda")
candidate = runtime.candidate(import_file(Path(sys.argv[3]), "candidate"), workload, "cuda")
torch.testing.assert_close(candidate(**inputs), reference(**inputs), rtol=1e-2, atol=1e-2)
for kernel in (candidate, reference):
    print(triton.testing.do_bench(lambda: kernel(**inputs), warmup=25, rep=100, return_mode="median"))
"""


def request(platform: str, workloads: tuple[str, ...] | None, **more: Any) -> JudgeRequest:
    return JudgeRequest(
        operator_dir=str(paths.operators_dir() / "rms_norm"),
        candidate=str(CANDIDATE),
        platform=platform,
        framework="triton",
        mode="production",
        workloads=workloads,
        **more,
    )


def timed(service: Service, wanted: JudgeRequest) -> tuple[float, dict[str, Any]]:
    start = time.perf_counter()
    verdict = service.evaluate(wanted)
    seconds = time.perf_counter() - start
    if verdict["status"] != "accepted":
        raise SystemExit(f"{verdict['status']} ({verdict['reason']}): {verdict['sentence']}\n{verdict['log']}")
    return seconds, verdict


def spread(values: list[float]) -> str:
    return f"median {statistics.median(values):.2f} s ({min(values):.2f} to {max(values):.2f}, n={len(values)})"


def rival(workloads: list[str]) -> list[float]:
    found = []
    for workload in workloads:
        start = time.perf_counter()
        command = [sys.executable, "-c", RIVAL, str(ROOT / "scripts"), str(paths.operators_dir() / "rms_norm")]
        subprocess.run([*command, str(CANDIDATE), workload], check=True, capture_output=True)
        found.append(time.perf_counter() - start)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--platform", default="h200")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rival", type=int, default=3)
    parser.add_argument("--workloads", default=None)
    parser.add_argument("--profile", action="store_true", help="where the time of a warm verdict goes")
    parser.add_argument("--json", default=None, help="write the last full verdict there")
    given = parser.parse_args()
    if not Path("/dev/nvidiactl").exists():
        print("skipped: no NVIDIA device on this machine")
        return 0
    workloads = tuple(given.workloads.split(",")) if given.workloads else None
    start = time.perf_counter()
    service = Service()
    first, verdict = timed(service, request(given.platform, workloads))
    print(
        f"cold full verdict: {time.perf_counter() - start:.2f} s with the start of the judge ({first:.2f} s of it judging)"
    )
    print("  " + ", ".join(f"{stage['name']} {stage.get('seconds', 0):.2f}" for stage in verdict["stages"]))
    warm = []
    for _ in range(given.repeats):
        time.sleep(1.0)  # as between two requests; what was used is made again meanwhile
        seconds, verdict = timed(service, request(given.platform, workloads))
        warm.append(seconds)
    if warm:
        print(f"warm full verdict, {len(verdict['scope']['workloads'])} workloads: {spread(warm)}")
    print("  " + ", ".join(f"{stage['name']} {stage.get('seconds', 0):.2f}" for stage in verdict["stages"]))
    print(f"  geomean {verdict['timing']['geomean']}, notes {verdict['timing']['notes']}")
    if given.profile:
        profiled(service, request(given.platform, workloads))
    smoke = []
    for _ in range(given.repeats):
        time.sleep(1.0)
        smoke.append(timed(service, request(given.platform, ("0", "24", "48"), depth="smoke"))[0])
    if smoke:
        print(f"warm smoke verdict: {spread(smoke)}")
    if given.json:
        Path(given.json).write_text(json.dumps(verdict))
    service.close()
    if given.rival:
        ids = operators.load(paths.operators_dir() / "rms_norm").workload_ids("published")
        each = rival(ids[:: max(1, len(ids) // given.rival)][: given.rival])
        total = statistics.mean(each) * len(ids)
        print(f"a process per workload: {spread(each)} each, so about {total:.0f} s for {len(ids)} (extrapolated)")
    return 0


def profiled(service: Service, wanted: JudgeRequest) -> None:
    import cProfile
    import pstats
    from collections import defaultdict

    from kernelwright.judge.worker import Worker

    spent: dict[str, list[float]] = defaultdict(list)

    def counted(method: Any) -> Any:
        def wrapper(worker: Worker, message: Any, *arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(worker, message, *arguments)
            finally:
                name = message["op"] if isinstance(message, dict) else bytes(message[4:40]).decode().split('"')[3]
                spent[f"{method.__name__} {name}"].append(time.perf_counter() - start)

        return wrapper

    for name in ("ask_fds", "timed", "begin", "finish"):
        setattr(Worker, name, counted(getattr(Worker, name)))
    recorder = cProfile.Profile()
    verdict = recorder.runcall(service.evaluate, wanted)
    print(f"profiled: {verdict['status']} {verdict['sentence']} {verdict['duration_s']:.2f} s")
    print("  " + ", ".join(f"{stage['name']} {stage.get('seconds', 0):.2f}" for stage in verdict["stages"]))
    for name, values in sorted(spent.items(), key=lambda item: -sum(item[1])):
        print(f"  {name}: {sum(values):.3f} s in {len(values)}, median {1e3 * statistics.median(values):.2f} ms")
    pstats.Stats(recorder).sort_stats("cumulative").print_stats(40)


if __name__ == "__main__":
    sys.exit(main())
