"""An EpisodeContext over a small campaign folder, without Git, judge or torch."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kernelwright import artifacts
from kernelwright.agents.base import EpisodeContext
from kernelwright.paths import Campaign

METRICS = {
    "latency_us": {"value": 100.0, "unit": "us"},
    "parallel_efficiency": {"value": 0.5, "unit": "ratio"},
    "threads": {"value": 2.0, "unit": "1"},
    "share_of_floor": {"value": None, "unit": "ratio"},
}
PROFILE = {
    "metrics": METRICS,
    "bottlenecks": [
        {"bound": "occupancy", "evidence": ["parallel_efficiency", "threads"], "expected_gain": 2.0, "note": "idle"}
    ],
}
WORKLOAD = {
    "init_kwargs": {},
    "input_kwargs": {"rows": 4},
    "axes": {"rows": 4},
    "floor": {"memory_us": 1.0, "compute_us": None, "launch_us": None, "floor_us": 1.0, "bound": "memory"},
}


def workload(moved: int) -> dict[str, Any]:
    return {**WORKLOAD, "traffic": {"read_bytes": moved, "write_bytes": 0, "flops": 0, "source": "declared"}}


SPECS = {
    "operator": {
        "name": "tiny",
        "summary": "Adds one.",
        "inputs": {"x": {"dtype": "float32", "shape": ["rows"]}, "n": {"scalar": "int"}},
        "outputs": {"out": {"dtype": "float32", "shape": ["rows"]}},
        "mutates": [],
    },
    "platform": {"name": "cpu", "vendor": "cpu", "device": None, "facts": {}},
    "framework": "cpp",
    "mode": "leaderboard",
    "workloads": {"small": workload(10), "middle": workload(100), "large": workload(1000)},
}


SESSION = {
    "episode": "fast", "trials": 3, "goal_speedup": 1.5, "wall_s": 120.0, "idle_s": 60.0, "turns": 50, "tokens": None,
    "cost_usd": None, "resumes": 2, "retries": 1, "retry_wait_s": 0.0, "model": None, "effort": None,
    "isolation": "none", "mcp": False, "reviewers": [],
}  # fmt: skip


def config(**command: Any) -> dict[str, Any]:
    return {
        "stop": {"token_budget": None},
        "judge": {"samples": 10, "seeds": 3, "min_improvement": 0.02},
        "agents": {
            "search": {"trials": 4, "finalists": 2, "seed": 0, "dropout_after": 2},
            "command": {"argv": [], "timeout_s": 20, **command},
            "session": dict(SESSION),
        },
    }


def context(folder: Path, **changes: Any) -> EpisodeContext:
    campaign = Campaign(folder / "results", "tiny", "cpu", "cpp", "leaderboard")
    artifacts.write_text(campaign.baseline / "kernel.py", "# incumbent\n")
    artifacts.write_text(campaign.specs, "{}\n")
    (folder / "operator").mkdir(exist_ok=True)
    (folder / "operator" / "reference.py").write_text("class Model: ...\n")
    operator = SimpleNamespace(
        name="tiny", layout="native", directory=folder / "operator", source=folder / "operator", candidate_name="Model"
    )
    worktree = folder / "worktree"
    worktree.mkdir(exist_ok=True)
    (worktree / "b00.py").write_text("# incumbent\n")
    facts: dict[str, Any] = {
        "campaign": campaign,
        "bucket": "b00",
        "version": 1,
        "operator": operator,
        "specs": SPECS,
        "profile": PROFILE,
        "memories": [],
        "incumbent": {"version": 0, "kernel_path": "baseline/kernel.py", "kernel_sha256": "0" * 64},
        "config": config(),
        "workloads": ("small", "middle", "large"),
        "worktree": worktree,
        "kernel_file": worktree / "b00.py",
    }
    return EpisodeContext(**{**facts, **changes})
