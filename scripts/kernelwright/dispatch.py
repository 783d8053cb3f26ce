"""Step `dispatch`: one kernel file for all workloads, judged on all of them.

The incumbents of the buckets are merged behind a choice by signature. That dispatcher is shipped only when it beats the
best kernel that serves all workloads alone; otherwise that kernel is, and provenance.json says why.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright import __version__, artifacts, cli, judging, operators, paths, stop, workspace
from kernelwright.dispatcher import emit
from kernelwright.dispatcher.merge import Kernel
from kernelwright.dispatcher.rename import MergeError
from kernelwright.operators import Operator, sol_solution

BASELINE = "v000"
BOTH = ("reference", "compiled")
QUICK_SEEDS = 1
QUICK_SAMPLES = 10  # enough to rank correct kernels; what is shipped is judged in full with the run's own settings


@dataclass(frozen=True)
class Part:
    """One distinct kernel among the incumbents."""

    label: str
    version: int
    path: Path
    kernel_path: str  # relative to the campaign
    sha256: str
    buckets: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.path.read_text()


@dataclass
class Job:
    """A campaign's inputs to the step, and what was judged so far."""

    campaign: paths.Campaign
    operator: Operator
    config: dict[str, Any]
    specs: dict[str, Any]
    signatures: dict[str, Any]
    buckets: list[dict[str, Any]]
    failed: set[str]
    folder: Path  # for files to be judged
    comparisons: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Shipped:
    """What dispatcher/kernel.py will be, and the judge's word on it."""

    kind: str  # dispatcher, single or baseline
    reason: str
    sentence: str
    text: str
    body: dict[str, Any]
    facts: dict[str, Any]
    single: str | None = None
    gain: dict[str, float] | None = None


def read_job(campaign: paths.Campaign, operator_dir: Path, config: dict[str, Any], folder: Path) -> Job:
    """Raises InputError naming the artifact that is missing or off its schema."""
    failures = campaign.root / "failures.json"
    return Job(
        campaign=campaign,
        operator=operators.load(operator_dir),
        config=config,
        specs=artifacts.read(campaign.specs, "specs"),
        signatures=artifacts.read(campaign.signatures, "signatures"),
        buckets=artifacts.read(campaign.buckets, "buckets")["buckets"],
        failed=set(artifacts.read(failures, "failures")["buckets"]) if failures.exists() else set(),
        folder=folder,
    )


def label_of(bucket: str, version: int) -> str:
    return BASELINE if version == 0 else f"{bucket}_v{version:03d}"


def parts_of(job: Job) -> list[Part]:
    """The incumbents of the buckets, equal ones once, in bucket order."""
    found: dict[str, Part] = {}
    for bucket in job.buckets:
        incumbent = stop.walk(job.campaign, bucket["id"], job.config["stop"]).incumbent
        path = job.campaign.root / incumbent["kernel_path"]
        sha256 = artifacts.sha256_file(path)
        known = found.get(sha256)
        if known is None:
            label = label_of(bucket["id"], incumbent["version"])
            found[sha256] = Part(label, incumbent["version"], path, incumbent["kernel_path"], sha256, (bucket["id"],))
        else:
            found[sha256] = dataclasses.replace(known, buckets=(*known.buckets, bucket["id"]))
    return list(found.values())


def baseline_part(job: Job, parts: Sequence[Part]) -> Part:
    path = job.campaign.root / stop.BASELINE_KERNEL
    known = [part for part in parts if part.version == 0]
    return known[0] if known else Part(BASELINE, 0, path, stop.BASELINE_KERNEL, artifacts.sha256_file(path), ())


def notes_of(job: Job, parts: Sequence[Part]) -> list[str]:
    """Header of the shipped file: where it comes from. No times, so that equal kernels make equal files."""
    where = f"{job.campaign.operator} on {job.campaign.platform}, {job.campaign.framework}, {job.campaign.mode}"
    lines = [f"Kernelwright {__version__}: {where}."]
    for part in parts:
        serves = f" for {', '.join(part.buckets)}" if len(parts) > 1 else ""
        lines.append(f"{part.label}{serves}: {part.kernel_path}, sha256 {part.sha256}")
    return lines


def dispatcher_text(job: Job, parts: Sequence[Part]) -> str:
    """Source of the dispatcher over `parts`. Raises MergeError when they cannot be merged."""
    plan = emit.Plan(
        entry=job.operator.candidate_name,
        kernels=tuple(Kernel(part.label, part.text) for part in parts),
        buckets=tuple(job.buckets),
        kernel_of={bucket: part.label for part in parts for bucket in part.buckets},
        arguments=emit.arguments_of(job.signatures),
        positional=job.operator.layout == "kernelbench",
    )
    notes = [
        *notes_of(job, parts),
        "Chooses by shapes, dtypes, contiguity and non-tensor arguments; nothing synchronises.",
    ]
    return emit.dispatcher(plan, notes)


def judge(
    job: Job,
    text: str,
    label: str,
    purpose: str,
    against: Path | None = None,
    quick: bool = False,
    mode: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Verdict body and facts of a kernel's text over all workloads; recorded among the comparisons."""
    candidate = job.folder / label / "kernel.py"
    artifacts.write_text(candidate, text)
    request = judging.request(
        job.specs,
        job.config,
        job.operator.source,
        candidate,
        list(job.specs["workloads"]),
        against=against,
        contenders=("reference",) if quick else BOTH,
        depth="race" if quick else "full",
        seeds=QUICK_SEEDS if quick else job.config["judge"]["dispatch_seeds"],
    )
    if quick:
        request = dataclasses.replace(request, samples=min(QUICK_SAMPLES, request.samples))
    if mode is not None:
        request = dataclasses.replace(request, mode=mode)
    if against is not None:  # any gain that is certain is worth a dispatcher
        request = dataclasses.replace(request, min_improvement=0.0)
    body, facts = judging.evaluate(request)
    job.comparisons.append({
        "kernel": label, "purpose": purpose,
        **{key: body[key] for key in ("status", "reason", "sentence")},
        "seeds": request.seeds, "samples": request.samples, "speedup": (body["timing"] or {}).get("geomean", {}),
    })  # fmt: skip
    return body, facts


def ranked_singles(job: Job, parts: Sequence[Part]) -> list[Part]:
    """Kernels that serve all workloads alone, the fastest first; the baseline is always among them, at speedup 1."""
    baseline = baseline_part(job, parts)
    scored = [(1.0, baseline)]
    searched = [part for part in parts if part.version > 0]
    for part in searched:
        if len(searched) == 1 and len(parts) == 1:  # nothing to rank: it serves every bucket already
            return [part, baseline]
        body, _ = judge(job, part.text, part.label, "choose_single", quick=True)
        if body["status"] == "accepted":
            scored.append((body["timing"]["geomean"]["reference"]["value"], part))
    return [part for _, part in sorted(scored, key=lambda pair: -pair[0])]


def ship_single(job: Job, singles: Sequence[Part], reason: str, why: str, gain: dict[str, float] | None) -> Shipped:
    """The first of `singles` that the full verdict accepts, else the baseline with whatever its verdict is."""
    for part in singles:
        text = emit.alone(part.text, notes_of(job, [part]))
        is_baseline = part.version == 0  # the reference is made of library calls in every mode
        body, facts = judge(job, text, part.label, "final", mode="leaderboard" if is_baseline else None)
        if body["status"] == "accepted" or is_baseline:
            if is_baseline and reason == "one_kernel":
                reason, why = "only_baseline", "No version was accepted on all workloads."
            sentence = f"{why} {'The baseline' if is_baseline else part.label} is shipped alone."
            kind = "baseline" if is_baseline else "single"
            return Shipped(kind, reason, sentence, text, body, facts, part.label, gain)
        why = f"{why} {part.label} is {body['status']} on all workloads ({body['reason']})."
    raise AssertionError("the baseline is among the singles")


def interval(estimate: Mapping[str, float]) -> str:
    return f"{estimate['value']:.3f} ({estimate['low']:.3f} to {estimate['high']:.3f})"


def decide(job: Job, parts: Sequence[Part]) -> Shipped:
    """Judge what has to be judged and choose what to ship."""
    singles = ranked_singles(job, parts)
    if len(parts) == 1:
        if parts[0].version == 0:
            return ship_single(job, [parts[0]], "only_baseline", "No version of any bucket was accepted.", None)
        return ship_single(job, singles, "one_kernel", "All buckets have the same incumbent.", None)
    best = singles[0]
    try:
        text = dispatcher_text(job, parts)
    except MergeError as error:
        return ship_single(job, singles, "not_mergeable", f"The kernels cannot be merged into one file: {error}.", None)
    body, facts = judge(job, text, "dispatcher", "screen_dispatcher", against=best.path, quick=True)
    gain = (body["timing"] or {}).get("geomean", {}).get("incumbent")
    if gain is not None and gain["high"] < 1:
        why = f"The dispatcher is {interval(gain)} times as fast as {best.label} alone over all workloads."
        return ship_single(job, singles, "not_faster", why, gain)
    body, facts = judge(job, text, "dispatcher", "dispatcher_against_single", against=best.path)
    gain = (body["timing"] or {}).get("geomean", {}).get("incumbent")
    if body["status"] == "accepted":
        sentence = f"The dispatcher is {interval(gain)} times as fast as {best.label} alone over all workloads."
        return Shipped("dispatcher", "faster_than_single", sentence, text, body, facts, best.label, gain)
    if body["reason"] == "not_faster" and gain is not None:
        # The judge's own sentence: a first measurement may look faster and not be confirmed in fresh processes.
        why = f"The dispatcher has no certain gain over {best.label} alone: {body['sentence'].rstrip('.')}."
        return ship_single(job, singles, "not_faster", why, gain)
    why = f"The judge turned the dispatcher down ({body['reason']}): {body['sentence']}"
    return ship_single(job, singles, "dispatcher_rejected", why, gain)


def commit_of(campaign: paths.Campaign) -> str | None:
    """The commit that last changed kernel.py in the campaign's Git workspace."""
    import git

    with git.Repo(campaign.workspace) as repository:
        commits = list(repository.iter_commits(paths="kernel.py", max_count=1))
    return commits[0].hexsha if commits else None


def provenance_body(job: Job, parts: Sequence[Part], shipped: Shipped, sha256: str) -> dict[str, Any]:
    """Body of provenance.json without the commit."""
    part_of = {bucket: part for part in parts for bucket in part.buckets}
    kernels = [
        {
            "label": part.label,
            "kernel_path": part.kernel_path,
            "kernel_sha256": part.sha256,
            "buckets": list(part.buckets),
        }
        for part in parts
    ]
    buckets = [
        {
            **{key: bucket[key] for key in ("id", "label", "workloads", "rule")},
            "version": part_of[bucket["id"]].version,
            "kernel": part_of[bucket["id"]].label,
            "failed": bucket["id"] in job.failed,
        }
        for bucket in job.buckets
    ]
    decision = {
        "shipped": shipped.kind,
        "reason": shipped.reason,
        "sentence": shipped.sentence,
        "kernel_sha256": sha256,
        "single": shipped.single,
        "gain": shipped.gain,
    }
    return {"decision": decision, "kernels": kernels, "buckets": buckets, "comparisons": job.comparisons}


def write(job: Job, parts: Sequence[Part], shipped: Shipped, output: Path) -> None:
    """kernel.py, its commit, verdict.json and provenance.json. The commit first: the artifacts say that all is done."""
    kernel = output / "kernel.py"
    artifacts.write_text(kernel, shipped.text)
    sha256 = artifacts.sha256_file(kernel)
    geomean = (shipped.body["timing"] or {}).get("geomean", {})
    if job.operator.layout == "sol_execbench":  # what that benchmark takes as a submission
        device = job.specs["platform"]["device"] or job.campaign.platform
        sol_solution.write(output / "solution.json", job.operator, shipped.text, job.campaign.framework, [device])
    workspace.record_dispatcher(job.campaign, job.operator, kernel, geomean.get("reference", {}).get("value"))
    files = [job.campaign.specs, job.campaign.signatures, job.campaign.buckets, *(part.path for part in parts)]
    parents = {str(path.relative_to(job.campaign.root)): artifacts.sha256_file(path) for path in files}
    shared = {"parents": parents, "platform": job.campaign.platform, "kernel_sha256": sha256}
    body = {**shipped.body, "kernel": {"path": "dispatcher/kernel.py", "sha256": sha256}, "incumbent": None}
    artifacts.write(output / "verdict.json", "verdict", body, **shared, **shipped.facts)
    record = {**provenance_body(job, parts, shipped, sha256), "workspace_commit": commit_of(job.campaign)}
    artifacts.write(output / "provenance.json", "dispatch", record, **shared)


def main(argv: list[str] | None = None) -> int:
    """Write dispatcher/kernel.py, verdict.json and provenance.json of a campaign."""
    flags = argparse.ArgumentParser(prog="kernelwright.dispatch", description=__doc__)
    for name in ("campaign", "operator-dir", "config", "output-dir"):
        flags.add_argument(f"--{name}", type=Path, required=True)
    arguments = flags.parse_args(argv)
    campaign = paths.Campaign.from_dir(arguments.campaign)
    with tempfile.TemporaryDirectory(prefix="kernelwright-dispatch-") as folder:
        job = read_job(campaign, arguments.operator_dir, artifacts.load_yaml(arguments.config), Path(folder))
        parts = parts_of(job)
        shipped = decide(job, parts)
        write(job, parts, shipped, arguments.output_dir)
    print(shipped.sentence)
    return 0


main = cli.step(main)  # type: ignore[assignment]

if __name__ == "__main__":
    sys.exit(main())
