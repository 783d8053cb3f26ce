"""One phrase for an artifact and one line for a finished step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

READERS = {
    "baseline": "verdict.json",
    "buckets": "buckets.json",
    "profile": "profile.json",
    "plan": "plan.json",
    "candidate": "usage.json",
    "verify": "verdict.json",
    "dispatch": "verdict.json",
}


def of_verdict(record: Mapping[str, Any]) -> str:
    """`accepted, 1.42x incumbent, 2.1x reference` or `rejected (wrong_values)`."""
    geomean = (record.get("timing") or {}).get("geomean", {})
    ratios = [f"{estimate['value']:.3g}x {name}" for name, estimate in geomean.items()]
    reason = f" ({record['reason']})" if record["reason"] else ""
    return ", ".join([f"{record['status']}{reason}", *ratios])


def of_record(record: Mapping[str, Any]) -> str:
    kind = record.get("kind")
    if kind == "plan":
        return f"blocked: {record['blocker']}" if record["status"] == "blocked" else str(record["hypothesis"])
    if kind == "usage":
        return f"{record['outcome']}, {record['usage']['trials']} trials"
    if kind == "buckets":
        return f"{len(record['buckets'])} buckets"
    if kind == "verdict":
        return of_verdict(record)
    if kind == "profile" and record["bottlenecks"]:
        return f"{record['bottlenecks'][0]['bound']} bound"
    return "done"


def of_step(rule: str, outputs: list[str]) -> str | None:
    """What a finished step came to, read from its artifact; None for a version that the stop left unrun."""
    path = next((Path(name) for name in outputs if Path(name).name == READERS.get(rule)), None)
    if path is None:
        return "done"
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return "done"
    return None if record.get("kind") == "pass_through" else of_record(record)


def line(rule: str, wildcards: Mapping[str, str], text: str, seconds: float | None) -> str:
    """`rms_norm cpu cpp b00 v001 verify     accepted, 1.42x incumbent  3.1 s`."""
    where = [wildcards.get(name, "") for name in ("operator", "platform", "framework")]
    if wildcards.get("mode") == "production":
        where[-1] += "-production"
    if "bucket" in wildcards:
        where += [wildcards["bucket"], f"v{wildcards['version']}"]
    took = "" if seconds is None else f"  {seconds:.1f} s"
    return f"{' '.join(where)} {rule:<10} {text[:100]}{took}"
