"""Read a campaign's artifacts into the body of report.json. Parts that are not there are listed, never invented."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelwright import artifacts, paths, stop
from kernelwright.report import environment, numbers, versions
from kernelwright.report.reader import Reader, geometric_mean

CONTENDERS = ("reference", "compiled")

NO_FASTER_KERNEL = "no_faster_kernel"  # status of a campaign that ships its reference


def latency(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Median with interval and the 90th percentile (nearest rank) of the samples, in microseconds."""
    samples = sorted(facts["samples_us"])
    p90 = samples[math.ceil(0.9 * len(samples)) - 1] if samples else None
    return {"median_us": facts["median_us"], "low_us": facts["low_us"], "high_us": facts["high_us"], "p90_us": p90}


def _contract(specs: Mapping[str, Any]) -> list[str]:
    def line(role: str, name: str, declared: Mapping[str, Any]) -> str:
        if "scalar" in declared:
            return f"{role} {name}: {declared['scalar']}"
        shape = declared.get("shape")
        sizes = f"[{', '.join(map(str, shape))}]" if isinstance(shape, list) else ""
        return f"{role} {name}: {declared.get('dtype', 'unknown')}{sizes}"

    operator = specs["operator"]
    return [
        line(role, name, declared)
        for role, group in (("in", operator["inputs"]), ("out", operator["outputs"]))
        for name, declared in group.items()
    ]


def campaign_facts(campaign: paths.Campaign, specs: Mapping[str, Any] | None) -> dict[str, Any]:
    operator = specs["operator"] if specs else {}
    return {
        "operator": campaign.operator,
        "platform": campaign.platform,
        "framework": campaign.framework,
        "mode": campaign.mode,
        "layout": operator.get("layout"),
        "family": operator.get("family"),
        "summary": operator.get("summary", ""),
        "device": specs["platform"]["device"] if specs else None,
        "contract": _contract(specs) if specs else [],
    }


def _argument_in_words(part: str) -> str:
    """One part of a layout key (see buckets.layout_key) for people."""
    name, *facts = part.split(":")
    if len(facts) != 3:
        return part.replace("=", " is ", 1)
    dtype, rank, layout = facts
    return f"{name} {dtype} {rank}-D {'contiguous' if layout == 'c' else 'strided'}"


def rule_in_words(rule: Mapping[str, Any]) -> list[str]:
    """A bucket's boundary as conditions for people."""
    words = [_argument_in_words(part) for part in rule["layout_key"].split(";")] if rule["layout_key"] else []
    low, high = rule["min_input_bytes"], rule["max_input_bytes"]
    if low:
        words.append(f"inputs of at least {numbers.size(low)}")
    if high is not None:
        words.append(f"inputs below {numbers.size(high)}")
    return words or ["every call"]


def _workload(
    key: str, spec: Mapping[str, Any] | None, verdict: Mapping[str, Any] | None, served: tuple[str | None, str | None]
) -> dict[str, Any]:
    timed = ((verdict or {}).get("timing") or {}).get("workloads", {}).get(key)
    checked = ((verdict or {}).get("correctness") or {}).get("workloads", {}).get(key)
    floor = spec["floor"] if spec else {}
    names = ("passed", "checks", "worst_error", "error_ratio")
    return {
        "id": key,
        "axes": spec["axes"] if spec else {},
        "bucket": served[0],
        "kernel": served[1],
        "candidate": latency(timed["candidate"]) if timed else None,
        "contenders": {name: latency(facts) for name, facts in timed["contenders"].items()} if timed else {},
        "speedup": timed["speedup"] if timed else {},
        "floor_us": timed["floor_us"] if timed else floor.get("floor_us"),
        "bound": floor.get("bound", "unknown"),
        "share_of_floor": timed["share_of_floor"] if timed else None,
        "traffic": spec["traffic"] if spec else None,
        "correctness": {name: checked.get(name) for name in names} if checked else None,
    }


def workload_rows(
    specs: Mapping[str, Any] | None,
    buckets: list[dict[str, Any]],
    verdict: Mapping[str, Any] | None,
    dispatch: Mapping[str, Any] | None,
) -> list[dict[str, Any]]:
    """One row per workload of the specs (of the verdict when there are none), in their order."""
    bucket_of = {key: bucket["id"] for bucket in buckets for key in bucket["workloads"]}
    if dispatch and dispatch["decision"]["shipped"] == "dispatcher":
        kernel_of_bucket = {bucket["id"]: bucket["kernel"] for bucket in dispatch["buckets"]}
    else:
        alone = dispatch["decision"]["single"] if dispatch else None
        kernel_of_bucket = {bucket["id"]: alone for bucket in buckets}
    known = specs["workloads"] if specs else dict.fromkeys(verdict["scope"]["workloads"] if verdict else [])
    return [
        _workload(key, spec, verdict, (bucket_of.get(key), kernel_of_bucket.get(bucket_of.get(key, ""))))
        for key, spec in known.items()
    ]


def headline(
    verdict: Mapping[str, Any] | None,
    dispatch: Mapping[str, Any] | None,
    rows: list[dict[str, Any]],
    buckets: list[dict[str, Any]],
    layout: Mapping[str, Any],
) -> dict[str, Any]:
    counts = dict.fromkeys(("accepted", "rejected", "failed", "blocked", "invalid_problem"), 0)
    for bucket in buckets:
        for version in bucket["versions"]:
            if version["outcome"] in counts:
                counts[version["outcome"]] += 1
    geomean = ((verdict or {}).get("timing") or {}).get("geomean", {})
    status = verdict["status"] if verdict else "unknown"
    sentence = verdict["sentence"] if verdict else "There is no verdict of a kernel over all workloads yet."
    if dispatch is not None and dispatch["decision"]["shipped"] == "baseline":
        status, sentence = (
            NO_FASTER_KERNEL,
            f"What is shipped is the reference itself. {dispatch['decision']['sentence']}",
        )
    return {
        "status": status,
        "reason": verdict["reason"] if verdict else None,
        "sentence": sentence,
        "speedup": {name: geomean[name] for name in CONTENDERS if name in geomean},
        "share_of_floor": geometric_mean(row["share_of_floor"] for row in rows),
        "counts": counts,
        "stop": dict(layout),
    }


def _kernel(campaign: paths.Campaign) -> dict[str, Any] | None:
    path = campaign.dispatcher / "kernel.py"
    if not path.exists():
        return None
    text = path.read_text()
    return {
        "path": "dispatcher/kernel.py",
        "sha256": artifacts.sha256_file(path),
        "lines": len(text.splitlines()),
        "source": text,
    }


def _bucket(
    reader: Reader, bucket: Mapping[str, Any], policy: Mapping[str, Any], failures: Mapping[str, Any]
) -> dict[str, Any]:
    state = stop.walk(reader.campaign, bucket["id"], policy)
    failure = failures.get(bucket["id"])
    return {
        "id": bucket["id"],
        "label": bucket["label"],
        "rule": rule_in_words(bucket["rule"]),
        "workloads": bucket["workloads"],
        "incumbent": state.incumbent.get("version"),
        "stop": state.reason,
        "failure": versions.failure_sentence(failure) if failure else None,
        "versions": versions.rows(reader, bucket, state.last),
        "profile": versions.last_profile(reader, bucket["id"], state.last),
    }


def collect(campaign: paths.Campaign, config: Mapping[str, Any]) -> dict[str, Any]:
    """Body of report.json. Raises InputError when the campaign directory has no artifact at all or a broken one."""
    reader = Reader(campaign)
    specs = reader.expected(campaign.specs, "specs")
    reader.expected(campaign.baseline / "verdict.json", "verdict")
    fixed = reader.expected(campaign.buckets, "buckets")
    failures = reader.optional(campaign.root / "failures.json", "failures")
    broken = failures["buckets"] if failures else {}
    buckets = [_bucket(reader, bucket, config["stop"], broken) for bucket in (fixed["buckets"] if fixed else [])]
    verdict = reader.expected(campaign.dispatcher / "verdict.json", "verdict")
    dispatch = reader.expected(campaign.dispatcher / "provenance.json", "dispatch")
    rows = workload_rows(specs, fixed["buckets"] if fixed else [], verdict, dispatch)
    return {
        "campaign": campaign_facts(campaign, specs),
        "headline": headline(verdict, dispatch, rows, buckets, {bucket["id"]: bucket["stop"] for bucket in buckets}),
        "workloads": rows,
        "buckets": buckets,
        "dispatch": {key: dispatch[key] for key in ("decision", "kernels", "comparisons")} if dispatch else None,
        "totals": versions.totals(reader, buckets),
        "environment": environment.rows(specs, verdict, fixed),
        "reproduce": environment.commands(campaign, config),
        "history": environment.history(campaign),
        "kernel": _kernel(campaign),
        "missing": sorted(set(reader.missing)),
    }
