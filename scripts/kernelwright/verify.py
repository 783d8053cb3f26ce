"""Step `verify`: the verdict on one version, what later episodes learn from it, and its commit when it was accepted."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli, judging, memory, operators, paths, stop, workspace

NO_KERNEL_OUTCOMES = {"failed": "agent_failed", "blocked": "no_candidate", "pivot": "no_candidate"}
# Failures that a second run may not repeat: an identical kernel is judged again after one of these.
NOT_FINAL = ("crashed", "timed_out", "protocol_error", "no_candidate", "agent_failed", "timing_disagreement")


@dataclass(frozen=True)
class Episode:
    """What the verdict on one version is made from."""

    campaign: paths.Campaign
    bucket: str
    version: int
    operator: operators.Operator
    config: dict[str, Any]
    specs: dict[str, Any]
    workloads: list[str]
    plan: dict[str, Any]
    usage: dict[str, Any]
    incumbent: dict[str, Any]

    @property
    def kernel(self) -> Path:
        return self.campaign.version_dir(self.bucket, self.version) / "candidate" / "kernel.py"

    @property
    def kernel_path(self) -> str:
        return str(self.kernel.relative_to(self.campaign.root))

    @property
    def scope(self) -> dict[str, Any]:
        where = {"operator": self.operator.name, "platform": self.campaign.platform}
        how = {"framework": self.campaign.framework, "mode": self.campaign.mode, "workloads": self.workloads}
        return {**where, **how, "bucket": self.bucket, "version": self.version}


def read_episode(
    campaign: paths.Campaign, bucket: str, version: int, operator_dir: Path, config: dict[str, Any]
) -> Episode:
    """Read a version's artifacts. Raises InputError naming the file that is missing or off its schema."""
    folder = campaign.version_dir(bucket, version)
    listed = {entry["id"]: entry["workloads"] for entry in artifacts.read(campaign.buckets, "buckets")["buckets"]}
    return Episode(
        campaign=campaign,
        bucket=bucket,
        version=version,
        operator=operators.load(operator_dir),
        config=config,
        specs=artifacts.read(campaign.specs, "specs"),
        workloads=listed[bucket],
        plan=artifacts.read(folder / "plan.json", "plan"),
        usage=artifacts.read(folder / "candidate" / "usage.json", "usage"),
        incumbent=stop.walk(campaign, bucket, config["stop"], before=version).incumbent,
    )


def missing_candidate(episode: Episode) -> dict[str, Any] | None:
    """Verdict body of a version that has no kernel to judge, else None."""
    outcome = episode.usage["outcome"]
    if episode.plan["status"] == "blocked":
        reason, why = "no_candidate", f"the plan is blocked: {episode.plan['blocker'] or 'no reason given'}"
    elif outcome in NO_KERNEL_OUTCOMES:
        reason, why = NO_KERNEL_OUTCOMES[outcome], f"the session ended as {outcome}"
    else:
        return None
    note = episode.usage.get("note")
    added = f" ({note})" if note and note not in why else ""
    return {
        "status": "failed",
        "reason": reason,
        "sentence": f"No kernel was judged, {why}{added}.",
        "stage": "candidate",
        "scope": episode.scope,
        "kernel": {"path": None, "sha256": None},
        "against": {"label": "incumbent", "sha256": episode.incumbent["kernel_sha256"]},
        "isolation": {"level": "none", "missing": []},
        "settings": judging.settings(episode.config),
        "stages": [],
        "correctness": {"workloads": {}},
        "timing": None,
        "policy": {"own_share": None, "evidence": []},
        "incumbent": episode.incumbent,
        "log": note or "",
        "duration_s": 0.0,
    }


def earlier_verdict(episode: Episode) -> dict[str, Any] | None:
    """Verdict of an earlier version with this very kernel under the same settings for the same problem, else None."""
    sha256 = artifacts.sha256_file(episode.kernel)
    specs = artifacts.sha256_file(episode.campaign.specs)
    for version in range(episode.version - 1, 0, -1):
        folder = episode.campaign.version_dir(episode.bucket, version)
        path = folder / "candidate" / "kernel.py"
        if not path.exists() or artifacts.sha256_file(path) != sha256:
            continue
        found = artifacts.read(folder / "verdict.json", "verdict")
        made_for = (found["provenance"].get("parents", {}).get("specs.json"), found["scope"]["workloads"])
        if found["reason"] in NOT_FINAL or made_for != (specs, episode.workloads):
            continue
        if found["settings"] == judging.settings(episode.config):
            return found
    return None


def repeated(episode: Episode) -> dict[str, Any] | None:
    """Verdict body of a kernel that was judged before: it was turned down then, or it is not faster than itself."""
    sha256 = artifacts.sha256_file(episode.kernel)
    found = earlier_verdict(episode)
    if found is None:
        return None
    body = {key: value for key, value in found.items() if key not in ("schema_version", "kind", "provenance")}
    before = f"v{found['scope']['version']:03d}"
    if found["status"] == "accepted":
        body.update(status="rejected", reason="not_faster", stage="timing")
        body["sentence"] = f"The kernel is the one of {before}, which was accepted; it cannot be faster than that."
    else:
        body["sentence"] = f"The kernel is the one of {before}, not judged again: {found['sentence']}"
    if (found["against"] or {}).get("sha256") != episode.incumbent["kernel_sha256"]:
        body["timing"] = None  # its ratio is to a kernel that is the incumbent no longer
    body["scope"] = episode.scope
    body["kernel"] = {"path": episode.kernel_path, "sha256": sha256}
    return {**body, "duration_s": 0.0}


def judged(episode: Episode) -> tuple[dict[str, Any], dict[str, Any]]:
    """Verdict body and facts of the candidate against the incumbent."""
    against = episode.campaign.root / episode.incumbent["kernel_path"]
    body, facts = judging.evaluate(
        judging.request(
            episode.specs,
            episode.config,
            episode.operator.source,
            episode.kernel,
            episode.workloads,
            against=against,
            contenders=("reference",),
        )
    )
    body["scope"] = episode.scope
    body["kernel"] = {**body["kernel"], "path": episode.kernel_path}
    return body, facts


def conclude(episode: Episode) -> tuple[dict[str, Any], dict[str, Any]]:
    """Body of verdict.json with the incumbent after it, and facts for its provenance."""
    facts: dict[str, Any] = {}
    body = missing_candidate(episode) or repeated(episode)
    if body is None:
        body, facts = judged(episode)
    body["incumbent"] = episode.incumbent
    if body["status"] == "accepted":
        sha256 = artifacts.sha256_file(episode.kernel)
        body["incumbent"] = {"version": episode.version, "kernel_path": episode.kernel_path, "kernel_sha256": sha256}
    return body, facts


def parents(episode: Episode) -> dict[str, str]:
    """Artifact, relative to the campaign, -> sha256 of what the verdict was made from."""
    campaign = episode.campaign
    folder = campaign.version_dir(episode.bucket, episode.version)
    files = [campaign.specs, campaign.buckets, folder / "plan.json", folder / "candidate" / "usage.json"]
    files.append(campaign.root / episode.incumbent["kernel_path"])
    return {str(path.relative_to(campaign.root)): artifacts.sha256_file(path) for path in files}


def main(argv: list[str] | None = None) -> int:
    """Write verdict.json and memory.json of one version, and commit an accepted kernel."""
    flags = argparse.ArgumentParser(prog="kernelwright.verify", description=__doc__)
    for name in ("campaign", "operator-dir", "config", "output", "memory"):
        flags.add_argument(f"--{name}", type=Path, required=True)
    flags.add_argument("--bucket", required=True)
    flags.add_argument("--version", type=int, required=True)
    arguments = flags.parse_args(argv)
    campaign = paths.Campaign.from_dir(arguments.campaign)
    config = artifacts.load_yaml(arguments.config)
    if stop.stopped_before(campaign, arguments.bucket, arguments.version, config["stop"], "verify"):
        return 0
    episode = read_episode(campaign, arguments.bucket, arguments.version, arguments.operator_dir, config)
    body, facts = conclude(episode)
    remembered = memory.body(episode.bucket, episode.version, episode.plan, episode.usage, body)
    accepted = body["status"] == "accepted"
    hypothesis = episode.plan["hypothesis"] if accepted else ""
    speedup = remembered["speedup"] if accepted else None
    # The commit first: the artifacts say that the version is done, so everything else has to be there.
    workspace.record(campaign, episode.operator, episode.bucket, body["incumbent"], hypothesis, speedup)
    shared = {"parents": parents(episode), "platform": campaign.platform, "agent": episode.plan["agent"]}
    sha256 = body["kernel"]["sha256"]
    artifacts.write(arguments.output, "verdict", body, **shared, kernel_sha256=sha256, **facts)
    artifacts.write(arguments.memory, "memory", remembered, **shared, kernel_sha256=sha256)
    print(remembered["lesson"])
    return 0


main = cli.step(main)  # type: ignore[assignment]

if __name__ == "__main__":
    sys.exit(main())
