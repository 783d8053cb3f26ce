"""Passes of the workflow: lengthen the chains until every bucket has stopped, then dispatchers and reports.

Pass A (`chains`) gives each open bucket a chunk of versions; pass B (`all`) makes dispatchers and reports around the
exact ends, and reruns whatever an edit made stale. A bucket that fails is left at its last version and named in
failures.json, so that the others get their report.
"""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kernelwright import artifacts, paths
from kernelwright.engine import campaigns

CHAIN_STEPS = ("profile", "plan", "candidate", "verify")
EVENTS = "KERNELWRIGHT_EVENTS"  # file for failed steps (engine.progress); every process of a run carries it
NOTHING = "nothing to be done"
ROUNDS = 10  # of passes A and B; each follows an edit whose rerun moved the end of a chain


@dataclass
class Run:
    """One run of the driver: where it works and what has failed so far."""

    config: dict[str, Any]
    directory: Path
    jobs: int
    profile: Path
    env: dict[str, str]
    failed: list[dict[str, Any]] = field(default_factory=list)
    judge_server: bool = True

    @property
    def state_dir(self) -> Path:
        return Path(self.config["results"]) / ".run"

    @property
    def events(self) -> Path:
        return self.state_dir / "failures.jsonl"

    @property
    def campaigns(self) -> list[paths.Campaign]:
        return campaigns.of_config(self.config)

    def write_config(self) -> Path:
        """The settings for Snakemake; beside each campaign too, for those who read its files later."""
        text = yaml.safe_dump(self.config, sort_keys=False)
        path = self.state_dir / "config.yaml"
        for target in (path, *(campaign.settings for campaign in self.campaigns)):
            if not target.exists() or target.read_text() != text:
                artifacts.write_text(target, text)
        return path


def command(run: Run, target: str, *flags: str) -> list[str]:
    """Command line of one pass."""
    words = [sys.executable, "-m", "kernelwright.engine.workflow", target]
    words += ["--snakefile", str(paths.project_root() / "Snakefile"), "--directory", str(run.directory)]
    words += ["--configfile", str(run.write_config().resolve())]
    words += ["--cores", str(run.jobs), "--profile", str(run.profile)]
    if "executor" not in artifacts.load_yaml(run.profile / "config.yaml"):
        words += ["--max-jobs-per-timespan", "0/1s"]  # on this machine: no limit, see engine.workflow
    return [*words, *flags]


def user_name() -> dict[str, str]:
    """LOGNAME for a user id without a name, as containers have: Snakemake and torch end without one."""
    try:
        return {"LOGNAME": getpass.getuser()}
    except (KeyError, OSError):  # KeyError up to Python 3.12
        return {"LOGNAME": f"uid{os.getuid()}"}


def snakemake(run: Run, target: str, *flags: str, quiet: bool = False) -> tuple[int, str]:
    """One pass; returns (exit code, output when `quiet`). Failed steps are added to `run.failed`."""
    run.events.parent.mkdir(parents=True, exist_ok=True)
    run.events.unlink(missing_ok=True)
    env = {**os.environ, **user_name(), **run.env, EVENTS: str(run.events.resolve())}
    # A session of its own: Ctrl-C reaches the driver alone, which ends everything in order.
    child = subprocess.Popen(
        command(run, target, *flags),
        env=env,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
    )
    output = (child.communicate()[0] or "") if quiet else ""
    code = child.wait()
    if run.events.exists():
        run.failed += [json.loads(text) for text in run.events.read_text().splitlines()]
    return code, output


def up_to_date(run: Run) -> bool:
    """True when every bucket has stopped and a dry run finds nothing to do."""
    policy = run.config["stop"]
    if not all(campaigns.settled(campaign, policy) for campaign in run.campaigns):
        return False
    code, output = snakemake(run, "all", "--dry-run", quiet=True)
    return code == 0 and NOTHING in output


def write_failures(run: Run) -> None:
    """Put the failed buckets of each campaign into its failures.json, and let the next passes go on without them."""
    for campaign in run.campaigns:
        buckets: dict[str, Any] = {}
        for event in run.failed:
            where = event["wildcards"]
            ours = (where.get("operator"), where.get("framework")) == (campaign.operator, campaign.framework)
            if ours and event["step"] in CHAIN_STEPS:
                log = os.path.relpath(event["log"], campaign.root) if event["log"] else ""
                buckets[where["bucket"]] = {
                    "step": event["step"],
                    "version": int(where["version"]),
                    "log": log,
                    "log_tail": event["log_tail"],
                }
        if buckets:
            artifacts.write(campaign.root / "failures.json", "failures", {"buckets": buckets})
            run.config["partial"] = True


def prepare(run: Run) -> None:
    """Forget the failures, placeholders and half-written files of earlier runs."""
    run.config.pop("partial", None)
    for campaign in run.campaigns:
        (campaign.root / "failures.json").unlink(missing_ok=True)
        if change := campaigns.bucket_cap_change(campaign, run.config):
            print(
                f"kernelwright: {campaign.operator}: buckets.max was {change[0]} and is {change[1]}; "
                "buckets are cut again, and versions of a bucket that changes are made again",
                flush=True,
            )
        for path in campaigns.drop_unreadable(campaign):
            print(f"kernelwright: {path} was not whole; it is made again", flush=True)
        campaigns.prune_placeholders(campaign)


def lengthen(run: Run) -> None:
    """Pass A until every bucket has stopped or failed, or a pass adds no version."""
    policy = run.config["stop"]
    done = -1
    while not _all_settled(run):
        versions = campaigns.progress(run.campaigns, policy)
        if versions == done:
            return
        done = versions
        code, _ = snakemake(run, "chains")
        for campaign in run.campaigns:
            campaigns.prune_placeholders(campaign)
        if code != 0:
            if not run.failed:
                return  # not a step: the workflow itself, which has said why
            write_failures(run)


def _all_settled(run: Run) -> bool:
    policy = run.config["stop"]
    return all(campaigns.settled(campaign, policy, campaigns.failures(campaign)) for campaign in run.campaigns)


def _ends(run: Run) -> list[Path]:
    return [path for campaign in run.campaigns for path in campaigns.chain_ends(campaign, run.config)]


def to_reports(run: Run) -> int:
    """All passes of a run; returns 0 when every campaign is finished and none of its buckets failed."""
    code = 0
    for _ in range(ROUNDS):
        lengthen(run)
        before = _ends(run)
        code, _ = snakemake(run, "all")
        if code != 0 and run.failed and not run.config.get("partial"):
            write_failures(run)
            if run.config.get("partial"):
                continue
        # An edit may make a pass rerun versions and so move the ends that it was given.
        if code != 0 or (_ends(run) == before and _all_settled(run)):
            break
    for campaign in run.campaigns:
        campaigns.prune_placeholders(campaign)
    return 1 if run.failed or code != 0 else 0
