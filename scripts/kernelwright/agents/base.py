"""What an agent is given and what it hands back. Agents propose; steps and the judge decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kernelwright.paths import Campaign

CANDIDATE_READY, PIVOT, BLOCKED, FAILED = "candidate_ready", "pivot", "blocked", "failed"

# Judge as an agent may call it: (kernel file, workload ids, samples, seeds, depth="race") -> verdict body.
JudgeCall = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class EpisodeContext:
    """Everything one episode may see. `memories` are the unmasked lessons; `judge` is None in the plan step."""

    campaign: Campaign
    bucket: str
    version: int
    operator: Any  # operators.Operator
    specs: Mapping[str, Any]
    profile: Mapping[str, Any]
    memories: list[dict[str, Any]]
    incumbent: Mapping[str, Any]
    config: Mapping[str, Any]
    workloads: tuple[str, ...]  # of the bucket
    worktree: Path | None = None
    kernel_file: Path | None = None
    judge: JudgeCall | None = None
    # Starts the judge of this process where there is no server: before a session, which ends what starts during it.
    prepare_judge: Callable[[], None] = lambda: None
    dropout: tuple[dict[str, Any], ...] = ()  # memories that optimization dropout left out of this episode

    @property
    def dropped_hypotheses(self) -> list[str]:
        return [memory["hypothesis"] for memory in self.dropout]

    @property
    def incumbent_file(self) -> Path:
        return self.campaign.root / str(self.incumbent["kernel_path"])


@dataclass(frozen=True)
class Outcome:
    """How a session ended; `log` becomes session.jsonl, one JSON object a line; `handoff` is what the session left."""

    outcome: str
    note: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    log: list[dict[str, Any]] = field(default_factory=list)
    handoff: dict[str, Any] | None = None


class Agent(Protocol):
    """Interface of an agent module's `AGENT`."""

    def plan(self, ctx: EpisodeContext) -> dict[str, Any]:
        """Body of plan.json without schema_version, kind, provenance, bucket, version and agent."""

    def candidate(self, ctx: EpisodeContext, plan: Mapping[str, Any]) -> Outcome:
        """Edit `ctx.kernel_file` in `ctx.worktree` into a candidate."""


def no_model_usage(wall_s: float, trials: int = 0) -> dict[str, Any]:
    """Usage of a session without a model: 0 tokens, not unknown ones."""
    return {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0, "wall_s": wall_s, "trials": trials}


def unknown_usage(wall_s: float, trials: int = 0) -> dict[str, Any]:
    """Usage of a program that does not say what it spent."""
    return {"input_tokens": None, "output_tokens": None, "cost_usd": None, "wall_s": wall_s, "trials": trials}
