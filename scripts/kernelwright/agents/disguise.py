"""What an agent is shown of the problem: everything in leaderboard mode, a generalised form of it in production mode.

In production mode a kernel has to serve shapes that its author never saw. So agents get ranges of the axes, opaque names
of workloads with their real latencies, and figures rounded so far that sizes cannot be computed from them.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.agents.base import EpisodeContext
from kernelwright.errors import InputError

GIVEN = "agent_problem.json"  # beside an operator's reference: its author's own generalised form
DIGITS = 2  # significant ones of a figure that a size could be computed from
SHOWN_FILES = ("reference.py", "input.py")  # of operator/, in production mode


class Names:
    """Workload ids as the agent sees them; the real ones where there is nothing to hide."""

    def __init__(self, specs: Mapping[str, Any], salt: str) -> None:
        self.hidden = specs["mode"] == "production"
        ids = sorted(specs["workloads"], key=len, reverse=True)
        self.shown = {key: self._opaque(key, salt) if self.hidden else key for key in ids}
        self.real = {shown: key for key, shown in self.shown.items()}

    @staticmethod
    def _opaque(key: str, salt: str) -> str:
        return "w-" + hashlib.sha256(f"{salt}/{key}".encode()).hexdigest()[:8]

    def show(self, body: Any) -> Any:
        """`body` with every workload id in its keys and texts replaced."""
        return self._replace(body, self.shown) if self.hidden else body

    def reveal(self, body: Any) -> Any:
        """Inverse of `show`."""
        return self._replace(body, self.real) if self.hidden else body

    @staticmethod
    def _replace(body: Any, names: Mapping[str, str]) -> Any:
        if not names:
            return body
        words = "|".join(re.escape(key) for key in sorted(names, key=len, reverse=True))
        # Between word borders: an id may be a part of another word.
        return json.loads(re.sub(rf"(?<![\w-])({words})(?![\w-])", lambda match: names[match[1]], json.dumps(body)))


def names_of(ctx: EpisodeContext) -> Names:
    """The salt is the digest of specs.json, which no agent sees: the names cannot be guessed and stay the same."""
    salt = artifacts.sha256_file(ctx.campaign.specs) if ctx.campaign.specs.is_file() else ""
    return Names(ctx.specs, salt)


def rounded(value: float | None) -> float | None:
    """The first two significant digits."""
    if value is None or value == 0 or not math.isfinite(value):
        return value
    return round(value, DIGITS - 1 - math.floor(math.log10(abs(value))))


def shown_profile(ctx: EpisodeContext, names: Names) -> dict[str, Any]:
    """profile.json as the agent sees it."""
    keys = ("metrics", "hot", "bottlenecks")
    body = names.show({key: ctx.profile[key] for key in keys if key in ctx.profile})
    if names.hidden:
        body["metrics"] = {
            key: {**metric, "value": rounded(metric["value"])} for key, metric in body["metrics"].items()
        }
        body["hot"] = [{**entry, "time_us": rounded(entry["time_us"])} for entry in body.get("hot", [])]
    return dict(body)


def revealed_evidence(evidence: list[dict[str, Any]], ctx: EpisodeContext, names: Names) -> list[dict[str, Any]]:
    """Cited metrics with real names, and with exact values where the shown one was cited as it was shown."""
    if not names.hidden:
        return evidence
    found = []
    for entry in names.reveal(evidence):
        known = ctx.profile["metrics"].get(entry.get("metric"), {}).get("value")
        exact = known if entry.get("value") == rounded(known) else entry.get("value")
        found.append({**entry, "value": exact})
    return found


def problem(ctx: EpisodeContext, names: Names) -> dict[str, Any]:
    """`workloads` (shown id -> arguments and floor) and `ranges` (axis -> words; {} where nothing is hidden)."""
    chosen = {key: ctx.specs["workloads"][key] for key in ctx.workloads}
    if not names.hidden:
        rows = {key: {"init_kwargs": one["init_kwargs"], "input_kwargs": one["input_kwargs"],
                      "floor_us": one["floor"]["floor_us"]} for key, one in chosen.items()}  # fmt: skip
        return {"workloads": rows, "ranges": {}, "source": "exact"}
    rows = {names.shown[key]: {"init_kwargs": "hidden", "input_kwargs": "hidden", "floor_us": None} for key in chosen}
    given = given_problem(ctx.operator)
    if given is not None:
        return {"workloads": rows, "ranges": given, "source": "given"}
    return {"workloads": rows, "ranges": ranges(ctx.specs["workloads"]), "source": "derived"}


def given_problem(operator: Any) -> dict[str, str] | None:
    """`axes` of agent_problem.json, axis -> words; None without such a file. Raises InputError for another form."""
    path = Path(operator.directory) / GIVEN
    if not path.is_file():
        return None
    body = artifacts.read_json(path)
    axes = body.get("axes") if isinstance(body, dict) else None
    if not isinstance(axes, dict) or set(body) != {"axes"} or not all(isinstance(text, str) for text in axes.values()):
        raise InputError(f'{path}: expected {{"axes": {{axis: words}}}}')
    return dict(axes)


def ranges(workloads: Mapping[str, Any]) -> dict[str, str]:
    """Axis -> the powers of two around its sizes over all workloads, and whether all are multiples of a power of two."""
    found: dict[str, list[int]] = {}
    for one in workloads.values():
        for axis, size in one["axes"].items():
            found.setdefault(axis, []).append(int(size))
    return {axis: _range(sizes) for axis, sizes in sorted(found.items())}


def _range(sizes: list[int]) -> str:
    low = 1 << max(0, min(sizes).bit_length() - 1) if min(sizes) > 0 else 0
    high = 1 << max(0, (max(sizes) - 1).bit_length()) if max(sizes) > 0 else 0
    if low == high:  # one size alone, a power of two: it must not be told
        low, high = low // 2, high * 2
    common = math.gcd(*sizes) if max(sizes) > 0 else 1
    power = min(common & -common, 16)  # a larger one would give a single size away
    return f"{low} to {high}" + (f", multiples of {power}" if power > 1 else "")


def hide_files(worktree: Path) -> None:
    """Remove from a worktree what names the workloads; the agent never sees the repository behind it."""
    folder = worktree / "operator"
    for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
        if path.is_file() and path.name not in SHOWN_FILES:
            path.unlink()
