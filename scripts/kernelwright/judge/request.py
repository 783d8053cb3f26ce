"""What a caller asks of the judge. Plain data that survives JSON, so that it can go through the server's socket."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from kernelwright.errors import InputError

# race: the smoke check, then timing: what a search spends on a parameter set; the winner is judged in full afterwards.
DEPTHS = ("smoke", "race", "correctness", "full")
MODES = ("leaderboard", "production")
MOST_S = 1e6  # of a limit
CONTENDERS = ("reference", "compiled")


@dataclass(frozen=True)
class JudgeRequest:
    """One evaluation of one candidate. Paths are absolute; `workloads` None means the platform's set."""

    operator_dir: str
    candidate: str
    platform: str
    framework: str | None = None
    mode: str = "leaderboard"
    workloads: tuple[str, ...] | None = None
    against: str | None = None
    against_label: str = "incumbent"
    contenders: tuple[str, ...] = ("reference",)
    depth: str = "full"
    seeds: int = 3
    samples: int = 30
    min_improvement: float = 0.02
    confidence: float = 0.95
    call_timeout_s: float = 60.0
    compile_timeout_s: float = 300.0
    floors_us: dict[str, float | None] = field(default_factory=dict)
    peak_bandwidth_gb_s: float | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (("depth", self.depth, DEPTHS), ("mode", self.mode, MODES)):
            if value not in allowed:
                raise InputError(f"judge request: {name}: {value!r} is not one of {', '.join(allowed)}")
        for name in self.contenders:
            if name not in CONTENDERS:
                raise InputError(f"judge request: contenders: {name!r} is not one of {', '.join(CONTENDERS)}")
        if self.seeds < 1 or self.samples < 2:
            raise InputError(f"judge request: seeds {self.seeds} must be >= 1 and samples {self.samples} >= 2")
        for name, limit in (("call_timeout_s", self.call_timeout_s), ("compile_timeout_s", self.compile_timeout_s)):
            if not 0 < limit <= MOST_S:
                raise InputError(f"judge request: {name}: {limit} must be seconds above 0 and at most {MOST_S:g}")
        if not 0 <= self.min_improvement < 1000:
            raise InputError(f"judge request: min_improvement: {self.min_improvement} must lie between 0 and 1000")
        if not 0.5 < self.confidence < 1:
            raise InputError(f"judge request: confidence: {self.confidence} must lie between 0.5 and 1")

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> JudgeRequest:
        """Inverse of to_json after json.loads. Raises InputError naming an unknown or missing key."""
        known = {item.name for item in dataclasses.fields(cls)}
        unknown = sorted(set(body) - known)
        if unknown:
            raise InputError(f"judge request: unknown key {', '.join(unknown)}; allowed: {', '.join(sorted(known))}")
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in body.items()
        }
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"judge request: {error}") from None
