"""Nsight Compute: run `ncu` on the dominant kernel of a call, and read its reports on any machine.

Two runs: a survey with the duration of every kernel of one call, then the full set of metrics for the kernel that took
most of the time. Reports are read by NVIDIA's `ncu-report` package. Metric names are Nsight Compute's own
(https://docs.nvidia.com/nsight-compute/ProfilingGuide/).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.profilers import diagnosis, tools
from kernelwright.profilers.base import Sections, Target, metric, percent, ratio, shares

NAME = "ncu"
VENDORS = ("nvidia",)
PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/ncu")
DURATION = "gpu__time_duration.sum"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
WORKING = ("selected",)  # not a stall: the warp issued
SECTOR_BYTES = 32
LIMITS = {
    "registers": "launch__occupancy_limit_registers",
    "shared_memory": "launch__occupancy_limit_shared_mem",
    "warps": "launch__occupancy_limit_warps",
    "blocks": "launch__occupancy_limit_blocks",
    "barriers": "launch__occupancy_limit_barriers",
}
FLOPS_PER_INSTRUCTION = {
    f"smsp__sass_thread_inst_executed_op_{kind}{name}_pred_on.sum.per_cycle_elapsed": count * packed
    for kind, packed in (("f", 1), ("d", 1), ("h", 2))
    for name, count in (("add", 1), ("mul", 1), ("fma", 2))
}
PIPES = ("alu", "fma", "fmaheavy", "fp16", "fp64", "lsu", "xu", "adu", "cbu", "uniform", "tex", "tensor", "tma")

Values = Mapping[str, Any]


def availability() -> tuple[bool, str]:
    """Whether ncu can be started and its reports read; whether the driver lets it count shows at the first run."""
    if find_spec("ncu_report") is None:
        return False, "the package ncu-report is missing: make setup"
    path = tools.found("ncu", *PLACES)
    return (True, path) if path else (False, "ncu is not on PATH: install Nsight Compute")


def measure(target: Target, sources: bool = False) -> Sections:
    """Survey, then the full set on the dominant kernel. Raises KernelwrightError. Not yet run on every driver."""
    program = tools.found("ncu", *PLACES)
    if program is None:
        raise KernelwrightError(availability()[1])
    survey = target.folder / "survey.ncu-rep"
    tools.run([program, *survey_flags(survey), *target.command(sys.executable)], target.folder, target.timeout_s)
    found = kernels(survey)
    name = dominant(found)
    full = target.folder / "full.ncu-rep"
    tools.run(
        [program, *full_flags(full, name, sources), *target.command(sys.executable)], target.folder, target.timeout_s
    )
    values = next((row for row in kernels(full) if row["name"] == name), None)
    if values is None:
        raise KernelwrightError(f"ncu: kernel {name!r} of the survey is not in the full report")
    return {**sections(values, target.facts), "hot": hot(found)}


def survey_flags(report: Path) -> list[str]:
    """Flags of the run that only measures how long each kernel takes."""
    return ["--profile-from-start", "off", "--metrics", DURATION, "--force-overwrite", "--export", str(report)]


def full_flags(report: Path, kernel: str, sources: bool) -> list[str]:
    """Flags of the run with all sections on one launch of one kernel; `sources` adds counters per source line."""
    flags = ["--profile-from-start", "off", "--set", "full", "--kernel-name", kernel, "--launch-count", "1"]
    flags += ["--section", "SourceCounters", "--import-source", "yes"] if sources else []
    return [*flags, "--force-overwrite", "--export", str(report)]


def kernels(report: Path) -> list[dict[str, Any]]:
    """Every kernel launch of a report as metric name -> value, and its `name`. Raises InputError."""
    import ncu_report

    if not Path(report).is_file():
        raise InputError(f"{report}: no such report")
    try:
        context = ncu_report.load_report(str(report))
        found = []
        for number in range(context.num_ranges()):
            launches = context.range_by_idx(number)
            found += [read(launches.action_by_idx(index)) for index in range(launches.num_actions())]
    except Exception as error:  # the package raises errors of its own binding
        raise InputError(f"{report}: not a report that ncu-report can read ({error})") from None
    if not found:
        raise InputError(f"{report}: no kernel in it")
    return found


def read(action: Any) -> dict[str, Any]:
    """Metrics of one launch; a metric that the tool could not compute is None."""
    values: dict[str, Any] = {"name": action.name()}
    for name in action.metric_names():
        try:
            values[name] = action.metric_by_name(name).value()
        except Exception:  # one unreadable metric must not hide the others
            values[name] = None
    return values


def dominant(found: list[dict[str, Any]]) -> str:
    """Name of the kernel with the most time over all its launches."""
    times: dict[str, float] = {}
    for row in found:
        times[row["name"]] = times.get(row["name"], 0.0) + (row.get(DURATION) or 0.0)
    return max(sorted(times), key=lambda name: times[name])


def hot(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Kernels by share of device time."""
    rows: dict[str, list[float]] = {}
    for row in found:
        rows.setdefault(row["name"], []).append((row.get(DURATION) or 0.0) / 1e3)
    total = sum(map(sum, rows.values())) or 1.0
    ordered = sorted(rows.items(), key=lambda item: -sum(item[1]))
    return [{"name": n, "share": sum(t) / total, "time_us": sum(t), "calls": len(t)} for n, t in ordered[:12]]


def number(values: Values, name: str) -> float | None:
    value = values.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def occupancy(values: Values) -> dict[str, Any]:
    """Achieved and theoretical occupancy and what limits it."""
    blocks = {name: number(values, metric_name) for name, metric_name in LIMITS.items()}
    known = {name: value for name, value in blocks.items() if value is not None}
    least = min(known.values(), default=None)
    most = number(values, "device__attribute_max_warps_per_multiprocessor")
    threads = number(values, "launch__block_size")
    warps = None if threads is None or least is None else least * -(-threads // 32)
    return {
        "achieved": percent(number(values, "sm__warps_active.avg.pct_of_peak_sustained_active")),
        "theoretical": None if warps is None or most is None else min(1.0, warps / most),
        "limiters": sorted(name for name, value in known.items() if value == least),
        "blocks_per_unit": blocks,
    }


def stalls(values: Values) -> list[dict[str, Any]]:
    """Reasons by share of the warps' resident time; `selected` is the share in which a warp issued."""
    head, tail = STALL.split("{}")
    found = {
        name[len(head) : -len(tail)]: number(values, name) or 0.0
        for name in values
        if name.startswith(head) and name.endswith(tail)
    }
    return shares(found, "reason")


def mix(values: Values) -> list[dict[str, Any]]:
    """Pipes by their share of the executed instructions, by use times what each can issue."""
    found = {}
    for pipe in PIPES:
        for name in (
            f"sm__inst_executed_pipe_{pipe}.sum",
            f"sm__inst_executed_pipe_{pipe}.avg.pct_of_peak_sustained_active",
        ):
            if (value := number(values, name)) is not None:
                found[pipe] = value
                break
    return shares(found, "name")


def traffic(values: Values) -> dict[str, Any]:
    """Bytes to and from memory, hit rates, and how much of the fetched sectors was asked for."""

    def efficiency(kind: str) -> float | None:
        name = f"smsp__sass_average_data_bytes_per_sector_mem_global_op_{kind}.ratio"
        value = number(values, name)
        return None if not value else min(1.0, value / SECTOR_BYTES)

    return {
        "read_bytes": number(values, "dram__bytes_read.sum"),
        "write_bytes": number(values, "dram__bytes_write.sum"),
        "l1_hit": percent(number(values, "l1tex__t_sector_hit_rate.pct")),
        "l2_hit": percent(number(values, "lts__t_sector_hit_rate.pct")),
        "load_efficiency": efficiency("ld"),
        "store_efficiency": efficiency("st"),
    }


def roofline(values: Values) -> dict[str, Any]:
    """Position of the kernel; FLOPs are those of the vector pipes, unknown where the report lacks them."""
    duration_us = (number(values, DURATION) or 0.0) / 1e3 or None
    cycles = number(values, "smsp__cycles_elapsed.avg") or number(values, "sm__cycles_elapsed.avg")
    counted = [(number(values, name), each) for name, each in FLOPS_PER_INSTRUCTION.items()]
    known = [value * each for value, each in counted if value is not None]
    flops = sum(known) * cycles if known and cycles else None
    read_bytes, written = number(values, "dram__bytes_read.sum"), number(values, "dram__bytes_write.sum")
    moved = None if read_bytes is None or written is None else read_bytes + written
    rate = ratio(flops, duration_us)
    bandwidth = ratio(moved, duration_us)
    return {
        "flops": flops,
        "bytes": moved,
        "intensity_flop_per_byte": ratio(flops, moved),
        "achieved_gflops": None if rate is None else rate / 1e3,
        "achieved_bandwidth_gb_s": None if bandwidth is None else bandwidth / 1e3,
        "compute_share": percent(number(values, "sm__throughput.avg.pct_of_peak_sustained_elapsed")),
        "memory_share": percent(
            number(values, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")
            or number(values, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")
        ),
    }


def metrics(values: Values, found: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers that the diagnosis reads, with units."""
    duration = number(values, DURATION)
    conflicts = number(values, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")
    active = ratio(number(values, "sm__cycles_active.avg"), number(values, "sm__cycles_active.max"))
    stall = {row["reason"]: row["share"] for row in found["stalls"]}
    plain = {
        "device_time_us": metric(None if duration is None else duration / 1e3, "us", "of the dominant kernel"),
        "memory_throughput_share": metric(found["roofline"]["memory_share"], "ratio", "of the memory's peak"),
        "cache_throughput_share": metric(
            percent(number(values, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")), "ratio"
        ),
        "compute_throughput_share": metric(found["roofline"]["compute_share"], "ratio", "of the busiest pipe's peak"),
        "achieved_occupancy": metric(found["occupancy"]["achieved"], "ratio"),
        "theoretical_occupancy": metric(found["occupancy"]["theoretical"], "ratio"),
        "waves_per_unit": metric(number(values, "launch__waves_per_multiprocessor"), "1"),
        "unit_balance": metric(active, "ratio", "mean over longest active cycles of a multiprocessor"),
        "issue_active_share": metric(
            percent(number(values, "smsp__issue_active.avg.pct_of_peak_sustained_active")), "ratio"
        ),
        "registers_per_thread": metric(number(values, "launch__registers_per_thread"), "1"),
        "spill_instructions": metric(number(values, "sass__inst_executed_register_spilling"), "1"),
        "shared_bank_conflicts": metric(conflicts, "1"),
        "load_sector_efficiency": metric(found["traffic"]["load_efficiency"], "ratio"),
        "store_sector_efficiency": metric(found["traffic"]["store_efficiency"], "ratio"),
    }
    return plain | {
        f"stall.{reason}": metric(share, "ratio") for reason, share in stall.items() if reason not in WORKING
    }


def sections(values: Values, facts: Mapping[str, Mapping[str, Any]]) -> Sections:
    """Sections of profile.json from one kernel's metrics; `facts` are the platform's (for the cost of a launch)."""
    makers: dict[str, Callable[[Values], Any]] = {
        "roofline": roofline, "stalls": stalls, "occupancy": occupancy, "traffic": traffic, "instruction_mix": mix,
    }  # fmt: skip
    found: Sections = {name: make(values) for name, make in makers.items()}
    found["metrics"] = metrics(values, found)
    found["bottlenecks"] = diagnosis.of_device(found["metrics"], facts)
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m kernelwright.profilers.ncu",
        description="Read a report: sections of the dominant kernel as JSON.",
    )
    parser.add_argument("report", type=Path)
    parser.add_argument("--platform", help="whose facts count, e.g. h200")
    parser.add_argument("--output", type=Path, help="default: standard output")
    args = parser.parse_args(argv)
    from kernelwright.knowledge import platforms

    found = kernels(args.report)
    name = dominant(found)
    facts = platforms.load(args.platform).facts if args.platform else {}
    values = max((row for row in found if row["name"] == name), key=len)
    text = json.dumps({"kernel": name, **sections(values, facts), "hot": hot(found)}, indent=1)
    if args.output:
        artifacts.write_text(args.output, text + "\n")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(cli.guarded(main)())
