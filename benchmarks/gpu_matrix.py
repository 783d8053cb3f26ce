"""The table of GPU fixtures and verdicts: `python benchmarks/gpu_matrix.py [--repeats N] [--only NAME,...]`.

Exit code 1 when a cheat is not refused for one of its reasons or an honest kernel is not accepted.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "gpu"))
fixtures = importlib.import_module("test_gpu")


def verdict_of(kind: str, name: str) -> tuple[str, str]:
    """Reason code (or accepted) and sentence."""
    case = (fixtures.HONEST if kind == "honest" else fixtures.CHEATS)[name]
    more = {}
    if "against" in case:
        more = {"against": str(fixtures.HERE / "honest" / f"{case['against']}.py"), "contenders": ()}
    verdict = fixtures.judged(fixtures.HERE / kind / f"{name}.py", case, **more)
    log = "" if verdict["reason"] in (None, *case.get("reasons", ())) else verdict["log"][-600:]
    return verdict["reason"] or "accepted", f"{verdict['sentence']} {log}".strip()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", default=None)
    given = parser.parse_args()
    if not Path("/dev/nvidiactl").exists():
        print("skipped: no NVIDIA device on this machine")
        return 0
    only = set(given.only.split(",")) if given.only else None
    wrong = 0
    print("| fixture | expected | verdicts | right | seconds | last sentence |\n| --- | --- | --- | --- | --- | --- |")
    for kind, table in (("honest", fixtures.HONEST), ("cheats", fixtures.CHEATS)):
        for name, case in table.items():
            if only and name not in only:
                continue
            allowed = case.get("reasons", ["accepted"])
            start = time.perf_counter()
            found = [verdict_of(kind, name) for _ in range(given.repeats)]
            seconds = (time.perf_counter() - start) / given.repeats
            right = sum(reason in allowed for reason, _ in found)
            wrong += given.repeats - right
            counts = ", ".join(f"{reason} {count}" for reason, count in Counter(reason for reason, _ in found).items())
            print(
                f"| {name} | {' / '.join(allowed)} | {counts} | {right}/{given.repeats} | {seconds:.2f} | {found[-1][1]} |",
                flush=True,
            )
    print(f"\n{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
