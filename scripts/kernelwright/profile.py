"""Step `profile`: where the incumbent's time goes on the bucket's representative workloads, in a child process."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli, stop
from kernelwright.agents import context
from kernelwright.errors import KernelwrightError
from kernelwright.paths import Campaign, search_path
from kernelwright.profilers import registry, summary
from kernelwright.profilers.base import Target

MOST_WORKLOADS = 4
TOOL = "torch.profiler"
# What a profile of the same kernel passes on.
KEPT = (
    "metrics", "hot", "bottlenecks", "roofline", "stalls", "occupancy", "traffic", "instruction_mix", "notes",
)  # fmt: skip


def representative(workloads: Sequence[str], specs: Mapping[str, Any], most: int = MOST_WORKLOADS) -> list[str]:
    """The smallest, the largest and evenly spaced workloads between them, by bytes moved."""

    def moved(key: str) -> tuple[int, str]:
        traffic = specs["workloads"][key]["traffic"]
        return (traffic["read_bytes"] or 0) + (traffic["write_bytes"] or 0), key

    ordered = sorted(workloads, key=moved)
    if len(ordered) <= most:
        return ordered
    return [ordered[round(index * (len(ordered) - 1) / (most - 1))] for index in range(most)]


def reusable(
    campaign: Campaign, bucket: str, version: int, kernel_sha256: str, workloads: list[str]
) -> dict[str, Any] | None:
    """The previous version's profile when it is of the same kernel and workloads and of the same specs."""
    path = campaign.version_dir(bucket, version - 1) / "profile.json"
    if version < 2 or not path.is_file() or artifacts.is_pass_through(path):
        return None
    record = artifacts.read(path, "profile")
    same = record["kernel_sha256"] == kernel_sha256 and record["workloads"] == workloads
    specs = record["provenance"].get("parents", {}).get("specs.json")
    return record if same and specs == artifacts.sha256_file(campaign.specs) else None


def measure_in_child(
    operator_dir: Path, kernel: Path, workloads: list[str], device: str, timeout_s: float
) -> dict[str, Any]:
    """Run profilers.child. Raises KernelwrightError with its last line when it fails or takes too long."""
    import os

    with tempfile.TemporaryDirectory(prefix="kernelwright-profile-") as folder:
        copy = Path(folder) / "kernel.py"
        shutil.copyfile(kernel, copy)
        output = Path(folder) / "raw.json"
        command = [
            sys.executable,
            "-m",
            "kernelwright.profilers.child",
            "--operator-dir",
            str(operator_dir),
            "--kernel",
            str(copy),
        ]
        command += ["--workloads", *workloads, "--device", device, "--output", str(output)]
        environment = {**os.environ, "PATH": search_path(), "TORCH_EXTENSIONS_DIR": str(Path(folder) / "extensions")}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout_s, check=False, env=environment
            )
        except subprocess.TimeoutExpired:
            raise KernelwrightError(f"{kernel}: profiling took longer than {timeout_s:.0f} s") from None
        if done.returncode != 0 or not output.is_file():
            lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
            raise KernelwrightError(f"{kernel}: profiling failed: {lines[-1]}")
        raw: dict[str, Any] = artifacts.read_json(output)
        return raw


def add_tools(
    body: dict[str, Any], operator_dir: Path, kernel: Path, workload: str, specs: Mapping[str, Any],
    setting: str | Sequence[str], timeout_s: float,
) -> list[str]:  # fmt: skip
    """Add the sections of the vendor's tools to a profile's body; returns the tools that gave some.

    A tool that is not there or fails leaves a note: torch.profiler's part of the profile stands without it.
    """
    used, notes = [], []
    vendor, facts = specs["platform"]["vendor"], specs["platform"]["facts"]
    for name, tool in registry.chosen(setting, vendor):
        available, why = tool.availability()
        if not available:
            notes.append(f"{name}: {why}")
            continue
        with tempfile.TemporaryDirectory(prefix="kernelwright-tool-") as folder:
            copy = Path(folder) / "kernel.py"
            shutil.copyfile(kernel, copy)
            target = Target(operator_dir.resolve(), copy, workload, vendor, facts, Path(folder), timeout_s)
            try:
                found = tool.measure(target)
            except KernelwrightError as error:
                notes.append(f"{name}: {error}")
                continue
        body["metrics"] |= found.pop("metrics", {})
        body["bottlenecks"] = summary.merged(found.pop("bottlenecks", []), body["bottlenecks"])
        body |= found
        used.append(name)
    if notes:
        body["notes"] = notes
    return used


def torch_compile_speedups(
    campaign: Campaign, incumbent: Mapping[str, Any], workloads: Sequence[str]
) -> list[float] | None:
    """torch.compile's speed over the incumbent's on each of `workloads`, both relative to the reference as the judge
    measured it in the baseline's and the incumbent's verdicts; None where one was not measured."""
    verdicts = [campaign.root / "baseline/verdict.json", campaign.root / incumbent["kernel_path"]]
    verdicts[1] = verdicts[0] if incumbent["version"] == 0 else verdicts[1].parent.parent / "verdict.json"
    base, own = ((artifacts.read_json(path).get("timing") or {}).get("workloads", {}) for path in verdicts)
    ratios = []
    for key in workloads:
        try:
            compiled = (
                base[key]["contenders"]["compiled"]["median_us"] / base[key]["contenders"]["reference"]["median_us"]
            )
            mine = own[key]["candidate"]["median_us"] / own[key]["contenders"]["reference"]["median_us"]
        except KeyError:
            return None
        ratios.append(mine / compiled)
    return ratios or None


def build(raw: Mapping[str, Any], specs: Mapping[str, Any], compiled: list[float] | None) -> dict[str, Any]:
    """Metrics, hot list and bottlenecks of profile.json; `compiled` is the value of torch_compile_speedups."""
    found = summary.metrics(raw, specs)
    note = "torch.compile's speed over this kernel's, as the judge measured both"
    mean, best = (summary.geomean(compiled), max(compiled)) if compiled else (None, None)
    found["torch_compile_speedup"] = {"value": mean, "unit": "ratio", "note": f"{note}, geometric mean"}
    found["torch_compile_best_speedup"] = {"value": best, "unit": "ratio", "note": f"{note}, best workload"}
    return {"metrics": found, "hot": summary.hot(raw), "bottlenecks": summary.bottlenecks(found, raw, specs)}


def provenance_facts(campaign: Campaign, specs: Mapping[str, Any], incumbent: Mapping[str, Any]) -> dict[str, Any]:
    """What was profiled, and on what."""
    return {
        "platform": specs["platform"]["name"],
        "device": specs["platform"]["device"],
        "kernel_sha256": incumbent["kernel_sha256"],
        "parents": {"specs.json": artifacts.sha256_file(campaign.specs)},
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright profile", description=__doc__)
    context.step_arguments(parser)
    parser.add_argument("--output", type=Path, required=True, help="profile.json")
    arguments = parser.parse_args(argv)
    found = context.opened(arguments, "profile")
    if found is None:
        return 0
    settings, campaign = found
    bucket, version = arguments.bucket, arguments.version
    specs = artifacts.read(campaign.specs, "specs")
    incumbent = stop.walk(campaign, bucket, settings["stop"], before=version).incumbent
    members = context.bucket_workloads(campaign, bucket)
    workloads = representative(members, specs)
    sha256 = incumbent["kernel_sha256"]
    head = {"bucket": bucket, "version": version, "tool": TOOL, "kernel_sha256": sha256, "workloads": workloads}
    facts = provenance_facts(campaign, specs, incumbent)
    previous = reusable(campaign, bucket, version, sha256, workloads)
    if previous is not None:
        body: dict[str, Any] = {key: previous[key] for key in KEPT if key in previous}
        head["tool"] = previous["tool"]
        origin = previous["provenance"].get("reused_from") or f"{bucket}/v{version - 1:03d}/profile.json"
        artifacts.write(arguments.output, "profile", {**head, **body}, reused_from=origin, **facts)
        return 0
    device = "cpu" if specs["platform"]["vendor"] == "cpu" else "cuda"
    judge = settings["judge"]
    timeout_s = judge["compile_timeout_s"] + len(workloads) * judge["call_timeout_s"]
    kernel = campaign.root / incumbent["kernel_path"]
    raw = measure_in_child(arguments.operator_dir, kernel, workloads, device, timeout_s)
    body = build(raw, specs, torch_compile_speedups(campaign, incumbent, members))
    largest = workloads[-1]  # a tool costs seconds a kernel: it sees the workload that moves most
    tools = add_tools(
        body, arguments.operator_dir, kernel, largest, specs, settings["knowledge"]["profilers"], timeout_s
    )
    head["tool"] = ", ".join([TOOL, *tools])
    artifacts.write(arguments.output, "profile", {**head, **body}, torch=raw["torch"], **facts)
    return 0


if __name__ == "__main__":
    sys.exit(cli.step(main)())
