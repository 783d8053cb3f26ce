"""rocprofv3 on AMD GPUs: run it, and read its kernel trace and counters, CSV or JSON.

Formats by AMD's documentation (rocm.docs.amd.com/projects/rocprofiler-sdk, "Using rocprofv3"): `*_kernel_trace.csv` has a
row per dispatch with times in nanoseconds, `*_counter_collection.csv` a row per dispatch and counter, and the JSON one
object below `rocprofiler-sdk-tool`. Counters are AMD's derived ones: FetchSize and WriteSize in kilobytes, the others
in per cent. Older releases say Group_Segment_Size for LDS_Block_Size and give no registers.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.profilers import diagnosis, tools
from kernelwright.profilers.base import Sections, Target, metric, percent, ratio

NAME = "rocprof"
VENDORS = ("amd",)
PLACES = ("/opt/rocm/bin/rocprofv3",)
# Each list is one run: counters of one list fit into the hardware together.
PASSES = (
    ("OccupancyPercent", "VALUBusy", "SALUBusy"),
    ("FetchSize",),
    ("WriteSize",),
    ("MemUnitBusy", "MemUnitStalled", "L2CacheHit"),
    ("VALUUtilization", "LDSBankConflict", "MfmaUtil"),
)
TRACE = {"name": "Kernel_Name", "start": "Start_Timestamp", "end": "End_Timestamp"}
COUNTER = {**TRACE, "dispatch": "Dispatch_Id", "counter": "Counter_Name", "value": "Counter_Value"}
KB = 1024


def availability() -> tuple[bool, str]:
    path = tools.found("rocprofv3", *PLACES)
    return (True, path) if path else (False, "rocprofv3 is not on PATH: install ROCm's rocprofiler-sdk")


def measure(target: Target) -> Sections:
    """A kernel trace, then one run for each list of counters. Raises KernelwrightError. Not yet run on a GPU."""
    program = tools.found("rocprofv3", *PLACES)
    if program is None:
        raise KernelwrightError(availability()[1])
    command = target.command(sys.executable)
    common = ["--output-format", "csv", "--output-directory"]
    trace = target.folder / "trace"
    tools.run([program, "--kernel-trace", *common, str(trace), "--", *command], target.folder, target.timeout_s)
    counters: dict[str, dict[str, float]] = {}
    for number, names in enumerate(PASSES):
        folder = target.folder / f"pmc_{number}"
        tools.run([program, "--pmc", *names, *common, str(folder), "--", *command], target.folder, target.timeout_s)
        for kernel, values in read_counters(found_files(folder, "*counter_collection.csv")).items():
            counters.setdefault(kernel, {}).update(values)
    return sections(read_trace(found_files(trace, "*kernel_trace.csv")), counters, target.facts)


def found_files(folder: Path, pattern: str) -> list[Path]:
    """Files of a run. Raises KernelwrightError when the tool wrote none, which it does for an unknown counter."""
    files = sorted(folder.rglob(pattern))
    if not files:
        raise KernelwrightError(f"rocprofv3 wrote no {pattern} below {folder}")
    return files


def rows(path: Path, columns: Mapping[str, str]) -> list[dict[str, str]]:
    """Rows of a CSV file. Raises InputError when a needed column is missing."""
    try:
        with Path(path).open(newline="") as stream:
            reader = csv.DictReader(stream)
            missing = [name for name in columns.values() if name not in (reader.fieldnames or ())]
            if missing:
                raise InputError(
                    f"{path}: missing column {', '.join(missing)}; found {', '.join(reader.fieldnames or ())}"
                )
            return list(reader)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def figure(text: Any, path: Path, column: str) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        raise InputError(f"{path}: {column}: {text!r} is not a number") from None


def read_trace(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Dispatches as {name, time_us, lds_bytes, vgprs, workgroup}; what a release does not write is None."""
    found = []
    for path in paths:
        for row in rows(path, TRACE):
            start, end = (figure(row[TRACE[key]], path, TRACE[key]) for key in ("start", "end"))
            lds = row.get("LDS_Block_Size", row.get("Group_Segment_Size"))
            found.append({
                "name": row[TRACE["name"]],
                "time_us": (end - start) / 1e3,
                "lds_bytes": None if lds is None else figure(lds, path, "LDS_Block_Size"),
                "vgprs": figure(row["VGPR_Count"], path, "VGPR_Count") if "VGPR_Count" in row else None,
                "workgroup": product(row, "Workgroup_Size", path),
            })  # fmt: skip
    return found


def product(row: Mapping[str, str], name: str, path: Path) -> float | None:
    parts = [row.get(f"{name}_{axis}") for axis in "XYZ"]
    if any(part is None for part in parts):
        return None
    size = 1.0
    for axis, part in zip("XYZ", parts, strict=True):
        size *= figure(part, path, f"{name}_{axis}")
    return size


def read_counters(paths: Iterable[Path]) -> dict[str, dict[str, float]]:
    """Kernel -> counter -> mean over its dispatches."""
    seen: dict[str, dict[str, list[float]]] = {}
    for path in paths:
        for row in rows(path, COUNTER):
            value = figure(row[COUNTER["value"]], path, COUNTER["value"])
            seen.setdefault(row[COUNTER["name"]], {}).setdefault(row[COUNTER["counter"]], []).append(value)
    return {kernel: {name: sum(v) / len(v) for name, v in found.items()} for kernel, found in seen.items()}


def read_json(path: Path) -> tuple[list[dict[str, Any]], dict[str, dict[str, float]]]:
    """(dispatches, kernel -> counter -> mean) of a rocprofv3 JSON file. Raises InputError."""
    body = artifacts.read_json(path)
    tool = (body.get("rocprofiler-sdk-tool") if isinstance(body, dict) else None) or []
    if not tool:
        raise InputError(f"{path}: rocprofiler-sdk-tool: missing or empty")
    dispatches: list[dict[str, Any]] = []
    seen: dict[str, dict[str, list[float]]] = {}
    for part in tool:
        names = {item["kernel_id"]: item.get("formatted_kernel_name") or item.get("kernel_name", "")
                 for item in part.get("kernel_symbols", [])}  # fmt: skip
        counters = {item["id"]["handle"]: item["name"] for item in part.get("counters", [])}
        for item in part.get("buffer_records", {}).get("kernel_dispatch", []):
            info = item["dispatch_info"]
            size = info.get("workgroup_size") or {}
            dispatches.append({
                "name": names.get(info["kernel_id"], f"kernel {info['kernel_id']}"),
                "time_us": (item["end_timestamp"] - item["start_timestamp"]) / 1e3,
                "lds_bytes": info.get("group_segment_size"),
                "vgprs": None,
                "workgroup": size["x"] * size["y"] * size["z"] if size else None,
            })  # fmt: skip
        for item in part.get("callback_records", {}).get("counter_collection", []):
            kernel = item["dispatch_data"]["dispatch_info"]["kernel_id"]
            for record in item["records"]:
                name = counters.get(record["counter_id"]["handle"], "unknown")
                seen.setdefault(names.get(kernel, str(kernel)), {}).setdefault(name, []).append(float(record["value"]))
    means = {kernel: {name: sum(v) / len(v) for name, v in found.items()} for kernel, found in seen.items()}
    return dispatches, means


def hot(dispatches: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Kernels by share of device time. Raises InputError without a dispatch."""
    times: dict[str, list[float]] = {}
    for row in dispatches:
        times.setdefault(row["name"], []).append(row["time_us"])
    if not times:
        raise InputError("rocprofv3: no kernel dispatch in the trace")
    total = sum(map(sum, times.values())) or 1.0
    ordered = sorted(times.items(), key=lambda item: -sum(item[1]))
    return [{"name": n, "share": sum(t) / total, "time_us": sum(t), "calls": len(t)} for n, t in ordered[:12]]


def sections(
    dispatches: list[dict[str, Any]],
    counters: Mapping[str, Mapping[str, float]],
    facts: Mapping[str, Mapping[str, Any]],
) -> Sections:
    """Sections of profile.json for the dominant kernel; a counter that was not collected is unknown."""
    ordered = hot(dispatches)
    name = ordered[0]["name"]
    time_us = ordered[0]["time_us"] / ordered[0]["calls"]
    value = counters.get(name, {})
    first = next(row for row in dispatches if row["name"] == name)
    fetched, written = (None if value.get(key) is None else value[key] * KB for key in ("FetchSize", "WriteSize"))
    moved = None if fetched is None or written is None else fetched + written
    bandwidth = ratio(moved, time_us * 1e3)
    peak = facts.get("memory_bandwidth_gb_s", {}).get("value")
    memory_share = ratio(bandwidth, peak if isinstance(peak, int | float) else None)
    pipes = [percent(value[key]) for key in ("VALUBusy", "SALUBusy", "MfmaUtil") if value.get(key) is not None]
    compute_share = max((pipe for pipe in pipes if pipe is not None), default=None)
    found: Sections = {"hot": ordered}
    found["roofline"] = {
        "flops": None, "bytes": moved, "intensity_flop_per_byte": None, "achieved_gflops": None,
        "achieved_bandwidth_gb_s": bandwidth, "compute_share": compute_share, "memory_share": memory_share,
    }  # fmt: skip
    found["occupancy"] = {
        "achieved": percent(value.get("OccupancyPercent")), "theoretical": None, "limiters": [], "blocks_per_unit": {},
    }  # fmt: skip
    found["traffic"] = {
        "read_bytes": fetched, "write_bytes": written, "l1_hit": None, "l2_hit": percent(value.get("L2CacheHit")),
        "load_efficiency": None, "store_efficiency": None,
    }  # fmt: skip
    found["metrics"] = metrics(value, first, time_us, memory_share, compute_share)
    found["bottlenecks"] = diagnosis.of_device(found["metrics"], facts)
    return found


def metrics(
    value: Mapping[str, float],
    first: Mapping[str, Any],
    time_us: float,
    memory_share: float | None,
    compute_share: float | None,
) -> dict[str, Any]:
    """The numbers that the diagnosis reads; AMD's counters give one kind of stall, waiting for memory."""
    return {
        "device_time_us": metric(time_us, "us", "of the dominant kernel, mean over its dispatches"),
        "memory_throughput_share": metric(memory_share, "ratio", "of the platform's memory bandwidth"),
        "compute_throughput_share": metric(compute_share, "ratio", "of the busiest of VALU, SALU and MFMA"),
        "achieved_occupancy": metric(percent(value.get("OccupancyPercent")), "ratio"),
        "memory_unit_busy": metric(percent(value.get("MemUnitBusy")), "ratio"),
        "stall.memory": metric(percent(value.get("MemUnitStalled")), "ratio"),
        "lane_utilisation": metric(percent(value.get("VALUUtilization")), "ratio", "active lanes of a wave"),
        "lds_bank_conflict_share": metric(percent(value.get("LDSBankConflict")), "ratio"),
        "registers_per_thread": metric(first["vgprs"], "1"),
        "lds_bytes_per_group": metric(first["lds_bytes"], "byte"),
    }
