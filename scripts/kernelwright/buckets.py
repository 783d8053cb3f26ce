"""Step `buckets`: sets of workloads that get a kernel each, exact, disjoint and found again from signatures alone.

A bucket's rule is a layout key and a half-open range of input bytes. Workloads are first split by layout key, then
where the cost regime changes (launch-bound, cache-resident, streaming), then at natural gaps in log2 of the bytes.
Neighbours are merged, the closest first and across a regime last, until no more than `--max` are left. Two workloads
with the same key and the same bytes are never split.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.cli import step
from kernelwright.errors import InputError, KernelwrightError

NATURAL_GAP = 2.0  # in log2 of the input bytes: a factor of four without any workload
REGIMES = ("launch-bound", "cache-resident", "streaming")
MAX_BUCKETS = 100  # ids are b00 to b99


def layout_key(signature: Mapping[str, Any]) -> str:
    """Dtypes, ranks, contiguity and non-tensor arguments of a call, `;`-joined in call order.

    A tensor is `name:dtype:rank:c` (contiguous) or `...:s` (strided); a bool, string or None, which choose a code path,
    is `name=repr(value)`; any other argument is its type's name, `name=int`: numbers are sizes, not layouts. From live
    values: `str(t.dtype).removeprefix("torch.")`, `t.dim()`, `t.is_contiguous()`; nothing synchronises.
    """
    return ";".join(argument_key(name, entry) for name, entry in signature["args"].items())


def argument_key(name: str, entry: Mapping[str, Any]) -> str:
    if "shape" in entry:
        return f"{name}:{entry['dtype']}:{len(entry['shape'])}:{'c' if entry['layout'] == 'contiguous' else 's'}"
    value = entry["value"]
    return f"{name}={value!r}" if value is None or isinstance(value, bool | str) else f"{name}={type(value).__name__}"


def match(signature: Mapping[str, Any], buckets: Sequence[Mapping[str, Any]]) -> str:
    """Id of the one bucket a signature belongs to.

    The bucket whose rule has this layout key and range; for a key that no rule has, the bucket whose key is null, or
    the last bucket when there is none. Ranges of one key cover all sizes, so every signature has exactly one bucket.
    """
    key, size = layout_key(signature), signature["input_bytes"]
    for wanted in (key, None):
        for bucket in buckets:
            rule = bucket["rule"]
            upper = rule["max_input_bytes"]
            if rule["layout_key"] == wanted and rule["min_input_bytes"] <= size and (upper is None or size < upper):
                return bucket["id"]
    return buckets[-1]["id"]


@dataclass(frozen=True)
class Segment:
    """Neighbouring workloads of one layout key."""

    key: str | None
    smallest: int
    largest: int
    regime: int  # index in REGIMES of its largest workload; -1 is unknown
    workloads: tuple[str, ...]


def regime_of(workload: Mapping[str, Any], facts: Mapping[str, Any]) -> int:
    """Cost regime from the floor and the last-level cache; -1 when the facts do not tell."""
    if workload["floor"]["bound"] == "launch":
        return 0
    last_level = facts.get("last_level_cache_bytes", {}).get("value")
    moved = [workload["traffic"][key] for key in ("read_bytes", "write_bytes")]
    if not isinstance(last_level, int | float) or None in moved:
        return -1
    return 1 if sum(moved) < last_level else 2


def segments_of(key: str, members: Mapping[str, int], regimes: Mapping[str, int]) -> list[Segment]:
    """Cut one layout key's workloads (id -> input bytes) where the regime rises or a natural gap lies."""
    by_size: dict[int, list[str]] = {}
    for workload in members:
        by_size.setdefault(members[workload], []).append(workload)
    segments: list[Segment] = []
    for size in sorted(by_size):
        ids = tuple(by_size[size])
        regime = max(regimes[workload] for workload in ids)
        last = segments[-1] if segments else None
        # A regime only rises with size: workloads of other aspect ratios must not cut a range to pieces.
        if last is not None and regime <= last.regime and gap(last.largest, size) < NATURAL_GAP:
            segments[-1] = Segment(key, last.smallest, size, last.regime, last.workloads + ids)
        else:
            segments.append(Segment(key, size, size, max(regime, last.regime if last else -1), ids))
    return segments


def gap(smaller: int, larger: int) -> float:
    return math.log2(max(larger, 1)) - math.log2(max(smaller, 1))


def fold_rare_keys(groups: dict[str, dict[str, int]], cap: int) -> tuple[dict[str, dict[str, int]], tuple[str, ...]]:
    """Keep the layout keys with most workloads; what is beyond the cap goes to one bucket that matches any key."""
    if len(groups) <= cap and cap > 1:
        return groups, ()
    order = sorted(groups, key=lambda key: (-len(groups[key]), key))
    kept = {key: groups[key] for key in groups if key in order[: cap - 1]}
    return kept, tuple(workload for key in groups if key not in kept for workload in groups[key])


def merge_down(segments: list[Segment], cap: int) -> list[Segment]:
    """Merge neighbours of one key until at most `cap` are left: within a regime first, the smallest gap first."""
    segments = list(segments)
    while len(segments) > cap:
        pairs = [i for i in range(len(segments) - 1) if segments[i].key == segments[i + 1].key]
        best = min(pairs, key=lambda i: merge_cost(segments[i], segments[i + 1]))
        left, right = segments[best], segments.pop(best + 1)
        ids = left.workloads + right.workloads
        segments[best] = Segment(left.key, left.smallest, right.largest, right.regime, ids)
    return segments


def merge_cost(left: Segment, right: Segment) -> tuple[bool, float]:
    return left.regime != right.regime, gap(left.largest, right.smallest)


def boundary(smaller: int, larger: int) -> int:
    """First size of the upper bucket: the geometric mean, kept in (smaller, larger]."""
    return min(max(math.isqrt(smaller * larger), smaller + 1), larger)


def partition(specs: Mapping[str, Any], signatures: Mapping[str, Any], cap: int) -> list[dict[str, Any]]:
    """Buckets of a campaign in order of size. Raises InputError when specs and signatures differ in workloads."""
    table = signatures["workloads"]
    if set(table) != set(specs["workloads"]):
        differing = sorted(set(table) ^ set(specs["workloads"]))
        raise InputError(
            f"signatures: workloads: {', '.join(differing[:5])} not in both signatures.json and specs.json"
        )
    groups: dict[str, dict[str, int]] = {}
    for workload, signature in table.items():
        groups.setdefault(layout_key(signature), {})[workload] = signature["input_bytes"]
    facts = specs["platform"]["facts"]
    regimes = {name: regime_of(workload, facts) for name, workload in specs["workloads"].items()}
    kept, rest = fold_rare_keys(groups, cap)
    segments = [part for key, members in kept.items() for part in segments_of(key, members, regimes)]
    segments = merge_down(segments, cap - bool(rest))
    if rest:
        sizes = [table[workload]["input_bytes"] for workload in rest]
        segments.append(Segment(None, min(sizes), max(sizes), max(regimes[workload] for workload in rest), rest))
    buckets = [describe(index, segments) for index in range(len(segments))]
    check(buckets, table)
    return buckets


def describe(index: int, segments: Sequence[Segment]) -> dict[str, Any]:
    """One bucket: id, label, workloads and the rule that finds it again."""
    segment = segments[index]
    before = segments[index - 1] if index and segments[index - 1].key == segment.key else None
    follows = segments[index + 1] if index + 1 < len(segments) and segments[index + 1].key == segment.key else None
    return {
        "id": f"b{index:02d}",
        "label": label(segment),
        "workloads": list(segment.workloads),
        "rule": {
            "layout_key": segment.key,
            "min_input_bytes": boundary(before.largest, segment.smallest) if before else 0,
            "max_input_bytes": boundary(segment.largest, follows.smallest) if follows else None,
        },
    }


def label(segment: Segment) -> str:
    """Short name for people: `bfloat16, 1 MB to 32 MB, streaming`."""
    dtypes: list[str] = []
    for part in (segment.key or "").split(";"):
        pieces = part.split(":")
        if len(pieces) == 4 and pieces[1] not in dtypes:
            dtypes.append(pieces[1])
    sizes = [readable(segment.smallest), readable(segment.largest)]
    span = sizes[0] if sizes[0] == sizes[1] else " to ".join(sizes)
    regime = REGIMES[segment.regime] if segment.regime >= 0 else ""
    return ", ".join(filter(None, ["/".join(dtypes) or "any layout", span, regime]))


def readable(size: int) -> str:
    """Bytes in decimal units with three digits."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"


def check(buckets: Sequence[Mapping[str, Any]], signatures: Mapping[str, Any]) -> None:
    """Every workload is in exactly the bucket that its signature matches. Raises KernelwrightError otherwise."""
    placed = [workload for bucket in buckets for workload in bucket["workloads"]]
    if sorted(placed) != sorted(signatures):
        raise KernelwrightError("buckets: some workload is in no bucket or in two")
    for bucket in buckets:
        for workload in bucket["workloads"]:
            found = match(signatures[workload], buckets)
            if found != bucket["id"]:
                raise KernelwrightError(f"buckets: {workload} is in {bucket['id']}, its signature matches {found}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright.buckets", description="Split the workloads into buckets.")
    parser.add_argument("--specs", type=Path, required=True)
    parser.add_argument("--signatures", type=Path, required=True)
    parser.add_argument("--max", type=int, default=8, help="buckets at most; 1 is one kernel for all")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.max <= MAX_BUCKETS:
        raise InputError(f"--max {arguments.max}: must be from 1 to {MAX_BUCKETS}")
    specs = artifacts.read(arguments.specs, "specs")
    signatures = artifacts.read(arguments.signatures, "signatures")
    body = {"cap": arguments.max, "buckets": partition(specs, signatures, arguments.max)}
    parents = {str(path.name): artifacts.sha256_file(path) for path in (arguments.specs, arguments.signatures)}
    artifacts.write(arguments.output, "buckets", body, parents=parents, platform=specs["platform"]["name"])
    return 0


main = step(main)

if __name__ == "__main__":
    sys.exit(main())
