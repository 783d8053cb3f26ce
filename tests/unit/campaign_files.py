"""Small campaign folders for unit tests of what reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernelwright import artifacts, paths

SHA = "0" * 64
USAGE = {"input_tokens": 3, "output_tokens": 4, "cost_usd": 0.0, "wall_s": 1.0, "trials": 2}
POLICY = {
    "max_iters": 9,
    "token_budget": None,
    "target_utilization": 0.9,
    "max_stall": 3,
    "max_repeated_blockers": 2,
}
CONFIG = {
    "stop": POLICY,
    "judge": {"seeds": 3, "samples": 30, "min_improvement": 0.02, "confidence": 0.95, "call_timeout_s": 9.0,
              "compile_timeout_s": 9.0},
    "agents": {"search": {"trials": 2, "finalists": 1, "seed": 0, "dropout_after": 2}},
}  # fmt: skip


def campaign(folder: Path, buckets: int = 1) -> paths.Campaign:
    """A campaign with a baseline kernel, specs.json and buckets."""
    made = paths.Campaign(folder / "results", "tiny", "cpu", "cpp", "leaderboard")
    artifacts.write_text(made.baseline / "kernel.py", "# baseline\n")
    artifacts.write_text(made.specs, "{}")
    rule = {"layout_key": None, "min_input_bytes": 0, "max_input_bytes": None}
    entries = [{"id": f"b{n:02d}", "label": "all", "workloads": [f"w{n}"], "rule": rule} for n in range(buckets)]
    artifacts.write(made.buckets, "buckets", {"cap": 8, "buckets": entries})
    return made


def incumbent(made: paths.Campaign, version: int = 0, bucket: str = "b00") -> dict[str, Any]:
    path = "baseline/kernel.py" if version == 0 else f"{bucket}/v{version:03d}/candidate/kernel.py"
    kernel = made.root / path
    return {
        "version": version,
        "kernel_path": path,
        "kernel_sha256": artifacts.sha256_file(kernel) if kernel.exists() else SHA,
    }


def add_version(
    made: paths.Campaign, version: int, outcome: str = "rejected", bucket: str = "b00", **facts: Any
) -> None:
    """One finished version: verdict.json, memory.json and a kernel."""
    folder = made.version_dir(bucket, version)
    artifacts.write_text(folder / "candidate" / "kernel.py", f"# {bucket} {version}\n")
    artifacts.write_text(folder / "verdict.json", json.dumps({"kind": "verdict"}))
    body = {
        "bucket": bucket,
        "version": version,
        "hypothesis": f"idea {version}",
        "category": "fusion",
        "evidence": [],
        "wiki": [],
        "change": f"change {version}",
        "outcome": outcome,
        "reason": None if outcome == "accepted" else "not_faster",
        "blocker": None,
        "speedup": None,
        "share_of_floor": None,
        "tokens": 7,
        "incumbent": incumbent(made, version if outcome == "accepted" else 0, bucket),
        "lesson": "a lesson",
        "masked": False,
    }
    specs = {"specs.json": artifacts.sha256_file(made.specs)}
    artifacts.write(folder / "memory.json", "memory", {**body, **facts}, parents=specs)


def plan(status: str = "planned", blocker: str | None = None) -> dict[str, Any]:
    return {
        "status": status,
        "blocker": blocker,
        "agent": "search",
        "hypothesis": "one pass over a row is faster",
        "category": "fusion",
        "evidence": [],
        "wiki": [],
        "change": "fuse both passes",
        "predicted_gain": 1.2,
        "usage": USAGE,
    }


def verdict(
    status: str, reason: str | None, ratio: float | None = None, shares: tuple[Any, ...] = (0.5,)
) -> dict[str, Any]:
    """The parts of a verdict body that memory and stop read."""
    timing = None
    if ratio is not None:
        workloads = {f"w{n}": {"share_of_floor": share} for n, share in enumerate(shares)}
        timing = {
            "geomean": {"incumbent": {"value": ratio, "low": ratio - 0.1, "high": ratio + 0.1}},
            "workloads": workloads,
        }
    return {"status": status, "reason": reason, "sentence": "A sentence.", "timing": timing, "incumbent": None}
