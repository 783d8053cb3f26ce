"""Build the EpisodeContext of a version from a campaign's artifacts; shared by the steps that load an agent."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright import artifacts, memory, operators, stop
from kernelwright.agents.base import EpisodeContext
from kernelwright.config import load
from kernelwright.errors import InputError
from kernelwright.paths import Campaign


def step_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags that every step of an episode has."""
    parser.add_argument("--campaign", type=Path, required=True, help="the campaign's directory")
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--version", type=int, required=True)
    parser.add_argument("--operator-dir", type=Path, required=True)
    parser.add_argument("--config", type=Path, required=True, help="merged settings")


def campaign_of(path: Path) -> Campaign:
    """Raises InputError when the path has no campaign shape."""
    try:
        return Campaign.from_dir(path)
    except ValueError as error:
        raise InputError(f"--campaign {path}: {error}") from None


def opened(arguments: argparse.Namespace, step: str) -> tuple[dict[str, Any], Campaign] | None:
    """(settings, campaign) of a step; None when a stop leaves the version unrun and its placeholders are written."""
    campaign = campaign_of(arguments.campaign)
    settings = load(arguments.config)
    if stop.stopped_before(campaign, arguments.bucket, arguments.version, settings["stop"], step) is not None:
        return None
    return settings, campaign


def bucket_workloads(campaign: Campaign, bucket: str) -> tuple[str, ...]:
    """Workload ids of a bucket. Raises InputError listing the buckets."""
    buckets = artifacts.read(campaign.buckets, "buckets")["buckets"]
    found = {entry["id"]: tuple(entry["workloads"]) for entry in buckets}
    if bucket not in found:
        raise InputError(f"--bucket {bucket}: not in {campaign.buckets}; allowed: {', '.join(found)}")
    return found[bucket]


def build(arguments: argparse.Namespace, config: Mapping[str, Any], **extra: Any) -> EpisodeContext:
    """Context of `--version` from the files of the versions before it."""
    campaign = campaign_of(arguments.campaign)
    state = stop.walk(campaign, arguments.bucket, config["stop"], before=arguments.version)
    memories, dropped = memory.active(campaign, arguments.bucket, arguments.version, config)
    return EpisodeContext(
        campaign=campaign,
        bucket=arguments.bucket,
        version=arguments.version,
        operator=operators.load(arguments.operator_dir),
        specs=artifacts.read(campaign.specs, "specs"),
        profile=artifacts.read(campaign.version_dir(arguments.bucket, arguments.version) / "profile.json", "profile"),
        memories=memories,
        dropout=tuple(dropped),
        incumbent=state.incumbent,
        config=config,
        workloads=bucket_workloads(campaign, arguments.bucket),
        **extra,
    )
