"""Which campaigns a configuration means, and how many versions each bucket is to have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright import artifacts, paths, stop
from kernelwright.errors import InputError


def of_config(config: Mapping[str, Any]) -> list[paths.Campaign]:
    """Campaigns of a resolved configuration: operators x frameworks, in order."""
    return [
        paths.Campaign(Path(config["results"]), operator, config["platform"], framework, config["mode"])
        for operator in config["operators"]
        for framework in config["frameworks"]
    ]


def bucket_ids(campaign: paths.Campaign) -> list[str]:
    """Bucket ids of buckets.json, [] when it is not there yet."""
    if not campaign.buckets.exists():
        return []
    return [bucket["id"] for bucket in artifacts.read_json(campaign.buckets)["buckets"]]


def unused_buckets(campaign: paths.Campaign) -> list[str]:
    """Folders of buckets that buckets.json no longer names: their versions are kept, and nothing reads them."""
    used = bucket_ids(campaign)
    return sorted(folder.name for folder in campaign.root.glob("b[0-9][0-9]") if used and folder.name not in used)


def bucket_cap_change(campaign: paths.Campaign, config: Mapping[str, Any]) -> tuple[int, int] | None:
    """(cap of the last run, cap of this one) when they differ and there are buckets made with the former."""
    if not campaign.buckets.exists() or not campaign.settings.exists():
        return None
    now = config["buckets"]["max"]
    before = (artifacts.load_yaml(campaign.settings).get("buckets") or {}).get("max", now)
    return (before, now) if before != now else None


def failures(campaign: paths.Campaign) -> dict[str, dict[str, Any]]:
    """Bucket -> where its chain broke in this run, from failures.json."""
    path = campaign.root / "failures.json"
    return artifacts.read(path, "failures")["buckets"] if path.exists() else {}


def settled(campaign: paths.Campaign, policy: Mapping[str, Any], broken: Mapping[str, Any] | None = None) -> bool:
    """True when the buckets are known and each has stopped or is among `broken`."""
    buckets = bucket_ids(campaign)
    return bool(buckets) and all(
        bucket in (broken or {}) or stop.walk(campaign, bucket, policy).stopped for bucket in buckets
    )


def horizon(campaign: paths.Campaign, bucket: str, config: Mapping[str, Any]) -> int:
    """Versions that the next pass of the workflow is to have of a bucket.

    The version at which it stopped; else a chunk more than there are, or twice as many, since each pass looks at all
    versions again; behind a failure of this run, those before it.
    """
    policy = config["stop"]
    state = stop.walk(campaign, bucket, policy)
    broken = failures(campaign).get(bucket) if config.get("partial") else None
    if broken is not None:
        return min(state.last, broken["version"] - 1)
    if state.stopped:
        return state.last
    return min(policy["max_iters"], state.last + max(state.last, config["engine"]["chunk"]))


def progress(campaigns: list[paths.Campaign], policy: Mapping[str, Any]) -> int:
    """Number of versions there are: a pass that does not raise it got nowhere."""
    return sum(stop.walk(campaign, bucket, policy).last for campaign in campaigns for bucket in bucket_ids(campaign))


def prune_placeholders(campaign: paths.Campaign) -> None:
    """Delete versions that a stop left unrun, so that a raised limit runs them and readers never meet them."""
    import shutil

    for folder in campaign.root.glob("b[0-9]*/v[0-9]*"):
        if any(_is_placeholder(path) for path in (folder / "verdict.json", folder / "profile.json")):
            shutil.rmtree(folder)


def drop_unreadable(campaign: paths.Campaign) -> list[Path]:
    """Delete JSON artifacts that are not whole, and return them: a step was killed while something wrote them.

    Our own steps write whole files, an agent's program may not. A verdict beside its memory.json was written whole;
    its samples are not parsed, only its end is looked at.
    """
    dropped = []
    for path in sorted(campaign.root.glob("*.json")) + sorted(campaign.root.glob("b[0-9]*/v[0-9]*/**/*.json")):
        long = path.name == "verdict.json" and path.with_name("memory.json").exists()
        try:
            whole = artifacts.is_whole(path) if long else isinstance(artifacts.read_json(path), dict)
        except InputError:
            whole = False
        if not whole:
            path.unlink()
            dropped.append(path)
    return dropped


def _is_placeholder(path: Path) -> bool:
    # A placeholder is short; a verdict with its samples is not worth parsing for this.
    return path.exists() and path.stat().st_size < 2000 and artifacts.is_pass_through(path)


def chain_ends(campaign: paths.Campaign, config: Mapping[str, Any]) -> list[Path]:
    """Verdict and memory of the last version of each bucket that the next pass is to have."""
    files: list[Path] = []
    for bucket in bucket_ids(campaign):
        last = horizon(campaign, bucket, config)
        if last > 0:
            verdict = campaign.verdict(bucket, last)
            files += [verdict, verdict.with_name("memory.json")]
    return files


def fixed_files(campaign: paths.Campaign) -> list[Path]:
    """Artifacts of a campaign that do not depend on its buckets."""
    kernels = [
        folder / name for folder in (campaign.baseline, campaign.dispatcher) for name in ("kernel.py", "verdict.json")
    ]
    reports = [campaign.root / name for name in ("report.html", "report.json")]
    return [campaign.specs, campaign.signatures, campaign.buckets, *kernels, *reports]


def version_files(campaign: paths.Campaign, config: Mapping[str, Any]) -> list[Path]:
    """Every artifact of every version up to the horizon."""
    names = [name for step in stop.STEP_OUTPUTS.values() for name in step if name.endswith((".json", ".py"))]
    return [
        campaign.version_dir(bucket, version) / name
        for bucket in bucket_ids(campaign)
        for version in range(1, horizon(campaign, bucket, config) + 1)
        for name in names
    ]


def agent_of(campaign: paths.Campaign, bucket: str, version: int, config: Mapping[str, Any]) -> str:
    """Agent that made a version, so that another choice in the configuration does not redo it; else the one chosen."""
    path = campaign.version_dir(bucket, version) / "plan.json"
    if path.exists():
        made_by = artifacts.read_json(path).get("agent")
        if made_by:
            return str(made_by)
    return str(config["agent"])
