"""One phrase for an artifact and one line for a finished step."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST_CHARS = 100  # of what a step came to
READERS = {
    "baseline": "verdict.json",
    "buckets": "buckets.json",
    "profile": "profile.json",
    "plan": "plan.json",
    "candidate": "usage.json",
    "verify": "verdict.json",
    "dispatch": "verdict.json",
}


def of_campaign(verdict: Mapping[str, Any], dispatch: Mapping[str, Any] | None) -> str:
    """What a campaign came to: its shipped kernel's verdict, or that the reference is all there is."""
    if dispatch is not None and dispatch["decision"]["shipped"] == "baseline":
        return "NO FASTER KERNEL was found, what is shipped is the reference itself"
    return of_verdict(verdict)


def of_verdict(record: Mapping[str, Any]) -> str:
    """`accepted, 1.42x incumbent, 2.1x reference` or `rejected (wrong_values)`."""
    geomean = (record.get("timing") or {}).get("geomean", {})
    ratios = [f"{estimate['value']:.3g}x {name}" for name, estimate in geomean.items()]
    reason = f" ({record['reason']})" if record["reason"] else ""
    return ", ".join([f"{record['status']}{reason}", *ratios])


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def of_record(record: Mapping[str, Any]) -> str:
    kind = record.get("kind")
    if kind == "plan":
        return f"blocked: {record['blocker']}" if record["status"] == "blocked" else str(record["hypothesis"])
    if kind == "usage":
        return f"{record['outcome']}, {counted(record['usage']['trials'], 'trial')}"
    if kind == "buckets":
        return counted(len(record["buckets"]), "bucket")
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
        if rule == "dispatch":
            return of_campaign(record, json.loads(path.with_name("provenance.json").read_text()))
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
    return f"{' '.join(where)} {rule:<10} {shortened(text)}{took}"


def shortened(text: str) -> str:
    return textwrap.shorten(text, MOST_CHARS, placeholder=" ...")
