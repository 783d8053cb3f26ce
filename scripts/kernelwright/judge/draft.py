"""A verdict while it is being reached: stages in order, then one body of exactly verdict.schema.yaml's keys."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kernelwright.judge.faults import Fault
from kernelwright.judge.request import JudgeRequest

LOG_CHARS = 8000


@dataclass
class Draft:
    """What is known so far about one candidate."""

    request: JudgeRequest
    operator: str
    workloads: list[str]
    started: float = field(default_factory=time.perf_counter)
    sha256: str | None = None
    against: dict[str, str] | None = None
    isolation: dict[str, Any] = field(default_factory=lambda: {"level": "none", "missing": []})
    stages: list[dict[str, Any]] = field(default_factory=list)
    correctness: dict[str, Any] = field(default_factory=dict)
    timing: dict[str, Any] | None = None
    own_share: float | None = None
    evidence: list[str] = field(default_factory=list)
    log: str = ""
    fault: Fault | None = None
    stage: str | None = None

    @contextlib.contextmanager
    def running(self, name: str) -> Iterator[dict[str, Any]]:
        """Record one stage; set `checks` and `note` on the yielded entry. A Fault ends the verdict."""
        entry: dict[str, Any] = {"name": name, "status": "passed", "checks": 0}
        self.stages.append(entry)
        start = time.perf_counter()
        try:
            yield entry
        except Fault as fault:
            entry["status"] = "failed"
            self.fault, self.stage = fault, name
            raise
        finally:
            entry["seconds"] = round(time.perf_counter() - start, 4)

    def skip(self, name: str, note: str) -> None:
        self.stages.append({"name": name, "status": "skipped", "checks": 0, "note": note})

    def body(self, facts: dict[str, Any]) -> dict[str, Any]:
        """The verdict without schema_version, kind and provenance, plus `facts` for the provenance."""
        fault = self.fault
        request = self.request
        log = fault.log if fault is not None and fault.log else self.log
        return {
            "status": fault.status if fault is not None else "accepted",
            "reason": fault.reason if fault is not None else None,
            "sentence": self.sentence(),
            "stage": self.stage,
            "scope": {
                "operator": self.operator,
                "platform": request.platform,
                "framework": request.framework,
                "mode": request.mode,
                "workloads": self.workloads,
                "bucket": None,
                "version": None,
            },
            "kernel": {"path": request.candidate, "sha256": self.sha256},
            "against": self.against,
            "isolation": self.isolation,
            "settings": {
                "seeds": request.seeds,
                "samples": request.samples,
                "min_improvement": request.min_improvement,
                "confidence": request.confidence,
            },
            "stages": self.stages,
            "correctness": {"workloads": self.correctness},
            "timing": self.timing,
            "policy": {"own_share": self.own_share, "evidence": self.evidence},
            "incumbent": None,
            "log": log[-LOG_CHARS:],
            "duration_s": round(time.perf_counter() - self.started, 4),
            "facts": facts,
        }

    def sentence(self) -> str:
        """One sentence for a person."""
        if self.fault is not None:
            where = f"{self.fault.workload}: " if self.fault.workload else ""
            return f"{where}{self.fault.sentence}"
        edges = sum(key not in self.workloads for key in self.correctness)
        done = f"correct on {counted(len(self.correctness) - edges, 'workload')}"
        done += f" and {counted(edges, 'edge workload')}" if edges else ""
        if self.request.depth == "race":
            done = "correct in the smoke check alone, not judged in full"
        if self.timing is None:
            return f"{done}; not timed at depth {self.request.depth}"
        speed = ", ".join(
            f"{item['value']:.3f} times the {label}'s speed" for label, item in self.timing["geomean"].items()
        )
        return f"{done}; {speed or 'timed alone'}"


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
