"""Step `specs`: the operator's contract, platform facts with sources, and work and roofline floor per workload."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts, operators
from kernelwright.cli import step
from kernelwright.errors import InputError
from kernelwright.knowledge import calibration, platforms, roofline
from kernelwright.operators import expressions, inspection
from kernelwright.operators.model import Operator, Workload

UNKNOWN_TRAFFIC = {"read_bytes": None, "write_bytes": None, "flops": None, "source": "unknown"}
INTEGER_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def operator_section(operator: Operator) -> dict[str, Any]:
    return {
        "name": operator.name,
        "layout": operator.layout,
        "family": operator.family,
        "directory_digest": operator.digest(),
        "summary": operator.summary,
        "inputs": operator.inputs,
        "outputs": operator.outputs,
        "mutates": list(operator.mutates),
        "tolerance": operator.tolerance,
        "deterministic": operator.deterministic,
    }


def declared_traffic(operator: Operator, workload: Workload) -> dict[str, Any]:
    """Work by the operator's own expressions over axes and arguments; a part it does not declare is null."""
    names = {**workload.init_kwargs, **workload.input_kwargs, **operator.axis_values(workload)}
    where = f"{operator.source}: traffic"
    parts = {
        part: expressions.evaluate(operator.traffic[part], names, f"{where}.{part} (workload {workload.id})")
        if part in operator.traffic
        else None
        for part in ("read_bytes", "write_bytes", "flops")
    }
    return {**parts, "source": "declared"}


def counted_traffic(operator: Operator, workload: Workload, found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Bytes by counting tensors: every output written once and every input read once; FLOPs are unknown.

    An operator with integer inputs may gather, so its reads are not known to cover its inputs: then they are null.
    `found` is the inspected signature, used where shapes are not declared.
    """
    inputs = found["args"].values() if found else ()
    outputs = found["outputs"] if found else None
    read = inspection.declared_bytes(operator, workload)
    written = inspection.declared_bytes(operator, workload, "outputs")
    if read is None and found:
        read = found["input_bytes"]
    if written is None and outputs is not None:
        written = sum(inspection.bytes_of(item) for item in outputs.values())
    dtypes = [item.get("dtype") for item in (*operator.inputs.values(), *inputs)]
    if any(dtype in INTEGER_DTYPES for dtype in dtypes) or operator.mutates:
        read = None
    if read is None and written is None:
        return dict(UNKNOWN_TRAFFIC)
    return {"read_bytes": read, "write_bytes": written, "flops": None, "source": "counted"}


def traffic(operator: Operator, workload_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Work per workload id: declared, else counted."""
    workloads = [operator.workload(key) for key in workload_ids]
    if operator.traffic:
        return {workload.id: declared_traffic(operator, workload) for workload in workloads}
    groups = ("inputs", "outputs")
    shaped = all(inspection.declared_bytes(operator, workloads[0], group) is not None for group in groups)
    found = {} if shaped else inspection.in_child(operator, workload_ids, with_outputs=True)
    return {workload.id: counted_traffic(operator, workload, found.get(workload.id)) for workload in workloads}


def floating_dtypes(operator: Operator) -> list[str]:
    """Declared dtypes of the tensors; the narrowest decides which peak bounds the arithmetic."""
    entries = (*operator.inputs.values(), *operator.outputs.values())
    return [entry["dtype"] for entry in entries if "dtype" in entry]


def workload_section(
    operator: Operator, workload_ids: Sequence[str], facts: roofline.Facts, measured: roofline.Facts | None = None
) -> dict[str, Any]:
    """Arguments, axes, work and floors per workload id; `measured` are facts of this machine's calibration."""
    work = traffic(operator, workload_ids)
    dtypes = floating_dtypes(operator)
    section = {}
    for key in workload_ids:
        workload = operator.workload(key)
        section[key] = {
            "init_kwargs": workload.init_kwargs,
            "input_kwargs": workload.input_kwargs,
            "axes": operator.axis_values(workload),
            "traffic": work[key],
            "floor": {
                **roofline.floor(work[key], dtypes, facts),
                "calibrated": roofline.calibrated_floor(work[key], dtypes, {**facts, **(measured or {})}),
            },
        }
    return section


def build(
    operator: Operator, platform: platforms.Platform, framework: str, mode: str, target: float | None
) -> dict[str, Any]:
    """Body of specs.json."""
    facts = platforms.resolve_facts(platform)
    return {
        "operator": operator_section(operator),
        "platform": {
            "name": platform.name,
            "vendor": platform.vendor,
            "device": platforms.device_name(platform),
            "facts": facts,
        },
        "framework": framework,
        "mode": mode,
        "workloads": workload_section(
            operator, operator.workload_ids(platform.workload_set), facts, calibration.known(platform)
        ),
        "targets": {"utilization": target},
    }


def report_unknown(specs: Mapping[str, Any]) -> None:
    """Say on stderr what is unknown and what follows from it; a floor is never guessed."""
    facts = specs["platform"]["facts"]
    missing = roofline.unknown_facts(facts, ("memory_bandwidth_gb_s", "last_level_cache_bytes", "launch_us"))
    missing += [name for name, fact in facts.items() if fact["value"] is None and name not in missing]
    if missing:
        name = specs["platform"]["name"]
        print(f"specs: platform {name}: unknown, left out of the floors: {', '.join(missing)}", file=sys.stderr)
    without = [key for key, workload in specs["workloads"].items() if workload["floor"]["floor_us"] is None]
    if without:
        print(f"specs: no roofline floor for {len(without)} of {len(specs['workloads'])} workloads", file=sys.stderr)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright.specs", description=__doc__)
    parser.add_argument("--operator-dir", type=Path, required=True)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--framework", required=True)
    parser.add_argument("--mode", required=True, choices=("leaderboard", "production"))
    parser.add_argument("--config", type=Path, required=True, help="merged settings, for stop.target_utilization")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    operator = operators.load(arguments.operator_dir)
    platform = platforms.load(arguments.platform)
    if arguments.framework not in platform.frameworks:
        allowed = ", ".join(platform.frameworks)
        raise InputError(f"--framework {arguments.framework}: not a framework of {platform.name}; allowed: {allowed}")
    settings = artifacts.load_yaml(arguments.config)
    target = settings.get("stop", {}).get("target_utilization")
    body = build(operator, platform, arguments.framework, arguments.mode, target)
    report_unknown(body)
    parents = {path.name: artifacts.sha256_file(path) for path in operator.files}
    facts = {"platform": platform.name, "device": body["platform"]["device"]}
    artifacts.write(arguments.output, "specs", body, parents=parents, **facts)
    return 0


main = step(main)

if __name__ == "__main__":
    sys.exit(main())
