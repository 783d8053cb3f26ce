"""When a bucket's search ends: computed from the files of its versions and the `stop` policy, never stored.

Raising a limit therefore continues a search and redoes nothing. A version is one that has both verdict.json and
memory.json; a `pass_through` placeholder in their place ends the walk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright import artifacts, paths

BASELINE_KERNEL = "baseline/kernel.py"
STEP_OUTPUTS = {
    "profile": ("profile.json",),
    "plan": ("plan.json", "plan.md"),
    "candidate": ("candidate/kernel.py", "candidate/session.jsonl", "candidate/usage.json"),
    "verify": ("verdict.json", "memory.json"),
}


@dataclass(frozen=True)
class VersionFacts:
    """What the stop rules read of one version; `tokens` None is unknown, `share_of_floor` None is unknown."""

    version: int
    outcome: str
    reason: str | None
    blocker: str | None
    speedup: float | None
    share_of_floor: float | None
    tokens: int | None
    incumbent: dict[str, Any]


@dataclass(frozen=True)
class StopState:
    """State of a bucket after its last version; `incumbent` is as in the verdict, {} before the baseline exists."""

    last: int
    stopped: bool
    reason: str | None
    incumbent: dict[str, Any]
    stall: int
    tokens: int | None
    versions: list[VersionFacts] = field(default_factory=list)


def share_of_floor(verdict: Mapping[str, Any]) -> float | None:
    """Geometric mean over the verdict's workloads of roofline floor over measured time; None if one is unknown."""
    timing = verdict.get("timing") or {}
    shares = [row.get("share_of_floor") for row in timing.get("workloads", {}).values()]
    if not shares or any(share is None or share <= 0 for share in shares):
        return None
    return math.exp(sum(math.log(share) for share in shares) / len(shares))


def session_tokens(*usages: Mapping[str, Any] | None) -> int | None:
    """Input and output tokens of the given `usage` objects together; None when one of them is unknown."""
    counts = [usage.get(key) if usage else None for usage in usages for key in ("input_tokens", "output_tokens")]
    return None if any(count is None for count in counts) else sum(count for count in counts if count is not None)


def _facts_of_files(folder: Path, version: int) -> VersionFacts:
    """Facts from verdict.json, plan.json and usage.json, for a version whose memory.json does not carry them."""
    verdict = artifacts.read_json(folder / "verdict.json")
    plan = artifacts.read_json(folder / "plan.json") if (folder / "plan.json").exists() else {}
    usage_path = folder / "candidate" / "usage.json"
    usage = artifacts.read_json(usage_path) if usage_path.exists() else {}
    geomean = (verdict.get("timing") or {}).get("geomean", {}).get("incumbent", {})
    return VersionFacts(
        version=version,
        outcome="blocked" if plan.get("status") == "blocked" else verdict["status"],
        reason=verdict["reason"],
        blocker=plan.get("blocker"),
        speedup=geomean.get("value"),
        share_of_floor=share_of_floor(verdict),
        tokens=session_tokens(plan.get("usage"), usage.get("usage")),
        incumbent=verdict.get("incumbent") or {},
    )


def version_facts(campaign: paths.Campaign, bucket: str, version: int) -> VersionFacts | None:
    """Facts of one version, None when it is not there or was passed through. memory.json has them in a few hundred
    bytes; a verdict's raw samples are only parsed when there is no memory beside it."""
    folder = campaign.version_dir(bucket, version)
    if not (folder / "verdict.json").exists():
        return None
    memory_path = folder / "memory.json"
    memory = artifacts.read_json(memory_path) if memory_path.exists() else {}
    if memory.get("kind") == artifacts.PASS_THROUGH:
        return None
    if "incumbent" not in memory:
        return None if artifacts.is_pass_through(folder / "verdict.json") else _facts_of_files(folder, version)
    return VersionFacts(
        version=version,
        outcome=memory["outcome"],
        reason=memory["reason"],
        blocker=memory.get("blocker"),
        speedup=memory["speedup"],
        share_of_floor=memory.get("share_of_floor"),
        tokens=memory.get("tokens"),
        incumbent=memory["incumbent"],
    )


def baseline_incumbent(campaign: paths.Campaign) -> dict[str, Any]:
    """The incumbent before any version: baseline/kernel.py; {} when there is no baseline yet."""
    kernel = campaign.root / BASELINE_KERNEL
    if not kernel.exists():
        return {}
    return {"version": 0, "kernel_path": BASELINE_KERNEL, "kernel_sha256": artifacts.sha256_file(kernel)}


def campaign_tokens(campaign: paths.Campaign) -> int:
    """Known tokens of all sessions of a campaign since its specs.json was made; older ones had another problem."""
    specs = artifacts.sha256_file(campaign.specs) if campaign.specs.exists() else None
    total = 0
    for path in sorted(campaign.root.glob("b[0-9]*/v[0-9]*/memory.json")):
        memory = artifacts.read_json(path)
        made_for = memory.get("provenance", {}).get("parents", {}).get("specs.json", specs)
        if memory.get("kind") == "memory" and made_for == specs:
            total += memory.get("tokens") or 0
    return total


def _streaks(versions: list[VersionFacts]) -> tuple[int, int]:
    """(versions in a row without an accepted one, times in a row that the last blocker came), counted from the end."""
    stall = 0
    for facts in reversed(versions):
        if facts.outcome == "accepted":
            break
        stall += 1
    repeats = 0
    for facts in reversed(versions):
        if facts.outcome != "blocked" or facts.blocker != versions[-1].blocker:
            break
        repeats += 1
    return stall, repeats


def _reason(versions: list[VersionFacts], policy: Mapping[str, Any]) -> str | None:
    """The first rule that the last of `versions` reaches, as a sentence that begins with its key."""
    last = versions[-1]
    stall, repeats = _streaks(versions)
    target = policy["target_utilization"]
    if last.outcome == "accepted" and target is not None and (last.share_of_floor or 0) >= target:
        return f"target_utilization: v{last.version:03d} is at {last.share_of_floor:.3f} of the floor, target {target}"
    if repeats >= policy["max_repeated_blockers"]:
        return f"max_repeated_blockers: {repeats} times in a row: {last.blocker}"
    if stall >= policy["max_stall"]:
        return f"max_stall: {stall} versions without an accepted one"
    if last.version >= policy["max_iters"]:
        return f"max_iters: {last.version} versions"
    return None


def walk(campaign: paths.Campaign, bucket: str, policy: Mapping[str, Any], before: int | None = None) -> StopState:
    """Walk a bucket's versions from v001 (those below `before` when given) until the files or a stop rule end it.

    The token budget is tested where the files end, since a campaign's buckets spend it together.
    """
    versions: list[VersionFacts] = []
    reason = None
    while reason is None and (before is None or len(versions) + 1 < before):
        facts = version_facts(campaign, bucket, len(versions) + 1)
        if facts is None:
            break
        versions.append(facts)
        reason = _reason(versions, policy)
    budget = policy["token_budget"]
    if reason is None and budget is not None:
        spent = campaign_tokens(campaign)
        reason = f"token_budget: {spent} of {budget} tokens" if spent >= budget else None
    known = [facts.tokens for facts in versions]
    return StopState(
        last=len(versions),
        stopped=reason is not None,
        reason=reason,
        incumbent=versions[-1].incumbent if versions else baseline_incumbent(campaign),
        stall=_streaks(versions)[0] if versions else 0,
        tokens=None if any(count is None for count in known) else sum(count for count in known if count is not None),
        versions=versions,
    )


def stopped_before(
    campaign: paths.Campaign, bucket: str, version: int, policy: Mapping[str, Any], step: str
) -> StopState | None:
    """For a step of `version`: when the search ended before it, write placeholders of its outputs; else None."""
    state = walk(campaign, bucket, policy, before=version)
    reason = state.reason
    if not state.stopped and state.last < version - 1:
        reason = f"the search ended at v{state.last:03d}"
    if reason is None:
        return None
    folder = campaign.version_dir(bucket, version)
    write_pass_through([folder / name for name in STEP_OUTPUTS[step]], reason)
    return state


def write_pass_through(outputs: list[Path], reason: str) -> None:
    """Write placeholders for the outputs of a step that the stop left unrun."""
    for path in outputs:
        if path.suffix == ".json":
            artifacts.write(path, artifacts.PASS_THROUGH, {"stop": reason})
        else:
            artifacts.write_text(path, "" if path.suffix == ".jsonl" else f"# not run: {reason}\n")
