"""What a bucket's versions tried and what came of it, from plan, usage, verdict and memory of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright import stop
from kernelwright.report.reader import Reader, geometric_mean


def failure_sentence(failure: Mapping[str, Any]) -> str:
    """A bucket's entry of failures.json as one sentence: where its chain broke and the last line of the log."""
    lines = [line.strip() for line in failure["log_tail"].splitlines() if line.strip()]
    said = f": {lines[-1]}" if lines else ""
    return f"{failure['step']} of v{failure['version']:03d} failed{said} (log: {failure['log']})"


def _sum(values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def measured_speedup(verdict: Mapping[str, Any], workloads: list[str] | None = None) -> float | None:
    """Geomean speedup over the reference on `workloads` (all that were timed when None); None when it was not timed."""
    timing = verdict.get("timing") or {}
    if workloads is None:
        return timing.get("geomean", {}).get("reference", {}).get("value")
    rows = timing.get("workloads", {})
    return geometric_mean(rows[key]["speedup"].get("reference", {}).get("value") for key in workloads if key in rows)


def _baseline_row(verdict: Mapping[str, Any] | None, workloads: list[str]) -> dict[str, Any]:
    return {
        "version": 0,
        "outcome": "baseline",
        "reason": verdict["reason"] if verdict else None,
        "sentence": verdict["sentence"] if verdict else "The baseline has no verdict.",
        "hypothesis": "the reference itself",
        "category": "baseline",
        "change": None,
        "predicted_gain": None,
        "gain": None,
        "speedup": (measured_speedup(verdict, workloads) if verdict else None) or 1.0,  # the reference over itself
        "share_of_floor": _share(verdict, workloads) if verdict else None,
        "lesson": None,
        "tokens": 0,
        "trials": 0,
        "wall_s": None,
    }


def _share(verdict: Mapping[str, Any], workloads: list[str]) -> float | None:
    rows = (verdict.get("timing") or {}).get("workloads", {})
    return geometric_mean(rows[key]["share_of_floor"] for key in workloads if key in rows)


def _row(reader: Reader, bucket: str, version: int, incumbent_speedup: float | None) -> dict[str, Any] | None:
    folder = reader.campaign.version_dir(bucket, version)
    verdict = reader.expected(folder / "verdict.json", "verdict", checked=False)
    if verdict is None:
        return None
    plan = reader.expected(folder / "plan.json", "plan", checked=False) or {}
    memory = reader.optional(folder / "memory.json", "memory", checked=False) or {}
    usage = (reader.optional(folder / "candidate" / "usage.json", "usage", checked=False) or {}).get("usage")
    usages = [item for item in (plan.get("usage"), usage) if item]
    gain = ((verdict["timing"] or {}).get("geomean", {})).get("incumbent")
    speedup = measured_speedup(verdict)
    if speedup is None and gain is not None and incumbent_speedup is not None:
        speedup = incumbent_speedup * gain["value"]
    return {
        "version": version,
        "outcome": "blocked" if plan.get("status") == "blocked" else verdict["status"],
        "reason": plan.get("blocker") if plan.get("status") == "blocked" else verdict["reason"],
        "sentence": verdict["sentence"],
        "hypothesis": plan.get("hypothesis") or memory.get("hypothesis"),
        "category": plan.get("category") or memory.get("category"),
        "change": plan.get("change") or memory.get("change"),
        "predicted_gain": plan.get("predicted_gain"),
        "gain": gain,
        "speedup": speedup,
        "share_of_floor": stop.share_of_floor(verdict),
        "lesson": memory.get("lesson"),
        "tokens": stop.session_tokens(*usages) if usages else None,
        "trials": sum(item["trials"] for item in usages),
        "wall_s": _sum([item["wall_s"] for item in usages]),
    }


def rows(reader: Reader, bucket: Mapping[str, Any], last: int) -> list[dict[str, Any]]:
    """The baseline and versions 1..last of a bucket, in order."""
    baseline = reader.optional(reader.campaign.baseline / "verdict.json", "verdict")
    found = [_baseline_row(baseline, bucket["workloads"])]
    incumbent = found[0]["speedup"]
    for version in range(1, last + 1):
        row = _row(reader, bucket["id"], version, incumbent)
        if row is None:
            continue
        found.append(row)
        if row["outcome"] == "accepted" and row["speedup"] is not None:
            incumbent = row["speedup"]
    return found


def last_profile(reader: Reader, bucket: str, last: int) -> dict[str, Any] | None:
    """The newest profile of a bucket: of the next version when it is already there, else of the last one."""
    for version in range(last + 1, 0, -1):
        record = reader.optional(
            reader.campaign.version_dir(bucket, version) / "profile.json", "profile", checked=False
        )
        if record is not None:
            return {
                "version": version,
                "tool": record["tool"],
                "metrics": record["metrics"],
                "hot": record.get("hot", []),
                "bottlenecks": record["bottlenecks"],
            }
    return None


def totals(reader: Reader, buckets: list[dict[str, Any]]) -> dict[str, Any]:
    """What the search cost; None where a part is unknown."""
    agent = None
    costs: list[float | None] = []
    judge_s: list[float | None] = []
    searched = [(bucket["id"], row) for bucket in buckets for row in bucket["versions"] if row["version"] > 0]
    for bucket, row in searched:
        folder = reader.campaign.version_dir(bucket, row["version"])
        plan = reader.optional(folder / "plan.json", "plan", checked=False)
        usage = reader.optional(folder / "candidate" / "usage.json", "usage", checked=False)
        agent = agent or (plan["agent"] if plan else None)
        costs += [record["usage"]["cost_usd"] for record in (plan, usage) if record]
        judge_s.append((reader.optional(folder / "verdict.json", "verdict", checked=False) or {}).get("duration_s"))
    return {
        "agent": agent,
        "tokens": _sum([row["tokens"] for _, row in searched]),
        "cost_usd": _sum(costs),
        "session_s": _sum([row["wall_s"] for _, row in searched]),
        "judge_s": _sum(judge_s),
        "trials": sum(row["trials"] for _, row in searched),
    }
