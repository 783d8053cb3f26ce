"""What later episodes of a bucket read of earlier ones: memory.json, its one-sentence lesson, and dropout.

Optimization dropout: after a few versions in a row without success, some old lessons are left out of planning at
random, so that a search that is stuck on its own conclusions tries something else. The draw depends on the campaign,
the bucket and the version alone, so it can be repeated.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from kernelwright import artifacts, paths, stop

DROPOUT_SHARE = 0.5  # of the lessons of versions that were not accepted


def load(campaign: paths.Campaign, bucket: str, before: int) -> list[dict[str, Any]]:
    """memory.json of the versions below `before`, in order; a version without one ends the list."""
    found = []
    for version in range(1, before):
        path = campaign.version_dir(bucket, version) / "memory.json"
        if not path.exists() or artifacts.is_pass_through(path):
            break
        found.append(artifacts.read(path, "memory"))
    return found


def failed_streak(memories: list[dict[str, Any]]) -> int:
    """Versions in a row, from the last, that were not accepted."""
    streak = 0
    for memory in reversed(memories):
        if memory["outcome"] == "accepted":
            break
        streak += 1
    return streak


def active(
    campaign: paths.Campaign, bucket: str, version: int, config: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(memories that planning of `version` may read, those that dropout left out this time)."""
    memories = [memory for memory in load(campaign, bucket, version) if not memory["masked"]]
    settings = config["agents"]["search"]
    if failed_streak(memories) < settings["dropout_after"]:
        return memories, []
    name = f"{campaign.operator}/{campaign.platform}/{campaign.framework}-{campaign.mode}/{bucket}/{version}"
    draw = random.Random(f"{name}/{settings['seed']}")
    failed = [memory for memory in memories if memory["outcome"] != "accepted"]
    masked = [memory for memory in failed if draw.random() < DROPOUT_SHARE] or [draw.choice(failed)]
    kept = [memory for memory in memories if not any(memory is left_out for left_out in masked)]
    return kept, masked


def lesson(plan: Mapping[str, Any], verdict: Mapping[str, Any]) -> str:
    """One mechanical sentence with the numbers of a version."""
    if plan["status"] == "blocked":
        return f"Nothing was tried: {plan['blocker'] or 'the agent gave no reason'}."
    change = str(plan["change"] or plan["hypothesis"]).strip().rstrip(".")
    geomean = (verdict["timing"] or {}).get("geomean", {})
    ratio = geomean.get("incumbent")
    interval = f"{ratio['value']:.3g}x ({ratio['low']:.3g} to {ratio['high']:.3g})" if ratio else None
    if verdict["status"] == "accepted":
        gain = f"made it {interval} the incumbent" if interval else "was accepted"
        return f"{change}: {gain}."
    if verdict["reason"] == "not_faster" and interval:
        return f"{change}: correct, but {interval} the incumbent, below the minimum improvement."
    return f"{change}: {verdict['status']}, {verdict['reason']}: {verdict['sentence']}"


def body(
    bucket: str, version: int, plan: Mapping[str, Any], usage: Mapping[str, Any], verdict: Mapping[str, Any]
) -> dict[str, Any]:
    """Body of memory.json; it carries what the stop rules read, so that they need not parse a verdict's samples."""
    blocked = plan["status"] == "blocked" or usage.get("outcome") == "blocked"
    blocker = plan["blocker"] or usage.get("note") or "no reason given"
    record = {
        "bucket": bucket,
        "version": version,
        "hypothesis": plan["hypothesis"],
        "category": plan["category"],
        "evidence": plan["evidence"],
        "wiki": plan["wiki"],
        "change": plan["change"],
        "outcome": "blocked" if blocked else verdict["status"],
        "reason": verdict["reason"],
        "blocker": blocker if blocked else None,
        "speedup": ((verdict["timing"] or {}).get("geomean", {}).get("incumbent") or {}).get("value"),
        "share_of_floor": stop.share_of_floor(verdict),
        "tokens": stop.session_tokens(plan["usage"], usage["usage"]),
        "incumbent": verdict["incumbent"],
        "lesson": lesson(plan, verdict),
        "masked": False,
    }
    return {**record, "recipe": plan["recipe"]} if "recipe" in plan else record
