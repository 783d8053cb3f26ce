"""Kill random processes of runs at random moments, and check that the next run ends where an undisturbed one does.

    python benchmarks/soak_kill.py --kills 20 --seed 0

Steps are the integration tests' fakes, so that artifacts can be compared byte for byte. Exits 1 at the first difference
or surviving process, and names the seed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "integration"))

from project import Project

LIMITS = ("--max-iters", "4", "--max-stall", "9")


def name(process: psutil.Process) -> str:
    try:
        words = process.cmdline()
    except psutil.Error:
        return "gone"
    known = ("kernelwright.optimize", "kernelwright.engine.workflow", "kernelwright.judge", "fake_steps.py")
    return next((part for part in known if any(part in word for word in words)), words[0] if words else "?")


def kill_one(project: Project, draw: random.Random, longest_s: float) -> str | None:
    """Start a run and kill one of its processes after a while; its name, or None when the run ended before."""
    child = project.start(*LIMITS)
    try:
        child.wait(timeout=draw.uniform(0.1, longest_s))
        return None
    except subprocess.TimeoutExpired:
        pass
    victims = project.processes()
    if not victims:
        return None
    victim = draw.choice(victims)
    said = name(victim)
    victim.kill()
    child.communicate(timeout=120)
    return said


def main(argv: list[str] | None = None) -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--kills", type=int, default=20)
    flags.add_argument("--seed", type=int, default=int(time.time()))
    flags.add_argument("--per-campaign", type=int, default=5, help="kills before a campaign is finished and compared")
    options = flags.parse_args(argv)
    draw = random.Random(options.seed)
    killed: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        whole = Project(Path(folder) / "whole")
        start = time.perf_counter()
        whole.run(*LIMITS)
        longest_s = time.perf_counter() - start
        project = Project(Path(folder) / "killed", sleep_s=0.03)
        compared = 0
        while sum(killed.values()) < options.kills:
            for _ in range(options.per_campaign):
                said = kill_one(project, draw, longest_s)
                left = project.gone()
                if left:
                    print(f"seed {options.seed}: after killing {said}, still there: {[name(one) for one in left]}")
                    return 1
                if said is not None:
                    killed[said] = killed.get(said, 0) + 1
            project.run(*LIMITS)
            compared += 1
            if project.artifacts() != whole.artifacts():
                print(f"seed {options.seed}: artifacts differ after {killed}")
                return 1
            shutil.rmtree(project.work / "results")
    total = ", ".join(f"{count} {said}" for said, count in sorted(killed.items()))
    print(
        f"seed {options.seed}: {sum(killed.values())} kills ({total}), {compared} campaigns equal to an undisturbed one"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
