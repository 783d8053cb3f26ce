"""What the engine itself costs: seconds per bucket-version with steps that do nothing, and of a run with nothing to do.

    python benchmarks/engine_overhead.py --versions 20 --buckets 8 --rounds 3

The steps are the integration tests' fakes, so the figures are Snakemake's, the shells' and the driver's. Prints median
and range over the rounds, and the peak memory of the largest process.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "integration"))

from project import Project


def spread(values: list[float], unit: str) -> str:
    return f"{statistics.median(values):.3f} {unit} ({min(values):.3f} to {max(values):.3f}, {len(values)} runs)"


def timed(project: Project, *flags: str, timeout_s: float) -> float:
    start = time.perf_counter()
    project.run(*flags, timeout_s=timeout_s)
    return time.perf_counter() - start


def empty_step(project: Project) -> float:
    """Seconds of one fake step, run alone: what is left of a version's time is the engine's."""
    output = str(project.work / "alone.json")
    (project.work / "specs.json").write_text("{}")
    argv = [str(project.python), "-m", "kernelwright.signatures"]
    argv += ["--specs", str(project.work / "specs.json"), "--output", output]
    start = time.perf_counter()
    subprocess.run(argv, env=project.env, check=True)
    return time.perf_counter() - start


def main(argv: list[str] | None = None) -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--versions", type=int, default=20)
    flags.add_argument("--buckets", type=int, default=8)
    flags.add_argument("--rounds", type=int, default=1)
    flags.add_argument("--chunk", type=int, default=16)
    flags.add_argument("--timeout", type=float, default=3600)
    options = flags.parse_args(argv)
    whole, idle, steps = [], [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            fake = {"buckets": options.buckets, "check_stop": False, "die_with_parent": False}
            project = Project(Path(folder), python_flags="-S -E", **fake)
            settings = project.work / "settings.yaml"
            settings.write_text(f"engine: {{chunk: {options.chunk}}}\n")
            limits = ["--max-iters", str(options.versions), "--max-stall", "999", "--config", str(settings)]
            steps += [4 * empty_step(project) for _ in range(20)]
            whole.append(timed(project, *limits, timeout_s=options.timeout) / (options.versions * options.buckets))
            idle += [timed(project, *limits, timeout_s=options.timeout) for _ in range(3)]
    memory_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{options.versions} versions x {options.buckets} buckets, chunk {options.chunk}")
    print(f"run:        {spread(whole, 's per bucket-version')}")
    print(f"  of which  {spread(steps, 's')} in the four empty step processes, started alone")
    print(f"no-op run:  {spread(idle, 's')}")
    print(f"memory:     {memory_mb:.0f} MB, largest process")
    return 0


if __name__ == "__main__":
    sys.exit(main())
