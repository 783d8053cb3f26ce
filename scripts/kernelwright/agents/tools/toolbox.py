"""What a session may ask for, with budgets. Evidence is recorded here, outside of what the agent can write."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.agents import disguise
from kernelwright.agents.base import EpisodeContext
from kernelwright.agents.sessions.handoff import read_bounded
from kernelwright.agents.tools import wiki
from kernelwright.errors import InputError, KernelwrightError

LARGEST_KERNEL = 2 << 20  # bytes
LOG_CHARS = 3000
COMPILES_PER_TRIAL = 4
DEPTHS = {"quick": "race", "full": "full"}
# A kernel's own words can name sizes as soon as it has run; before that it knows none.
BEFORE_RUNNING = ("contract", "compile")


@dataclass(frozen=True)
class Trial:
    """One judged kernel: `speedup` over the incumbent where it was timed, `good` when the judge accepted it."""

    number: int
    sha256: str
    good: bool
    speedup: float | None
    reason: str | None
    kernel: Path


@dataclass
class Toolbox:
    """The verbs of one episode. `judge` is the supervisor's; `root` is the only folder that kernels are read from."""

    ctx: EpisodeContext
    root: Path
    evidence: Path
    judge: Callable[..., dict[str, Any]]
    trials_allowed: int
    hide: Callable[[str], str] = str  # takes secrets out of a text
    verbs: tuple[str, ...] = ("judge", "compile", "profile", "wiki", "memory", "status")
    trials: list[Trial] = field(default_factory=list)
    compiles: int = 0

    def __post_init__(self) -> None:
        self.names = disguise.names_of(self.ctx)
        self.lock = threading.Lock()  # one measurement at a time

    def call(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request; a refusal is an answer {"error": one line}."""
        if verb not in self.verbs:
            return {"error": f"verb {verb!r}: not one of {', '.join(self.verbs)}"}
        allowed = {"judge": {"file", "depth"}, "compile": {"file"}, "wiki": {"query"}}.get(verb, set())
        if set(arguments) - allowed:
            return {"error": f"{verb}: unknown argument {', '.join(sorted(set(arguments) - allowed))}; "
                             f"allowed: {', '.join(sorted(allowed)) or 'none'}"}  # fmt: skip
        start = time.monotonic()
        with self.lock:
            try:
                answer = getattr(self, f"_{verb}")(**arguments)
            except (KernelwrightError, OSError) as error:
                answer = {"error": str(error)}
            self._note(verb, answer, time.monotonic() - start)
        return dict(self.names.show(answer))

    def _note(self, verb: str, answer: Mapping[str, Any], seconds: float) -> None:
        """One line of evidence/calls.jsonl."""
        self.evidence.mkdir(parents=True, exist_ok=True)
        brief = {key: answer[key] for key in ("trial", "status", "reason", "speedup", "error") if key in answer}
        with (self.evidence / "calls.jsonl").open("a") as stream:
            stream.write(json.dumps({"verb": verb, "seconds": round(seconds, 2), **brief}) + "\n")

    def frozen(self, file: str | None, name: str) -> Path:
        """A copy of a kernel file out of the agent's reach. Raises InputError for a path that is no such file."""
        path = self.root / (file or self.ctx.kernel_file or "kernel.py")
        real = path.resolve()
        if self.root.resolve() not in real.parents:
            raise InputError(f"file {str(file)!r}: outside of the session's folder")
        data = read_bounded(real, f"file {str(file)!r}", LARGEST_KERNEL)
        text = data.decode(errors="replace")
        if self.hide(text) != text:
            raise InputError(f"file {str(file)!r}: it holds the value of a secret variable")
        copy = self.evidence / name / "kernel.py"
        artifacts.write_bytes(copy, data)
        return copy

    def _judge(self, file: str | None = None, depth: str = "full") -> dict[str, Any]:
        if depth not in DEPTHS:
            raise InputError(f"depth {depth!r}: not one of {', '.join(DEPTHS)}")
        if len(self.trials) >= self.trials_allowed:
            raise InputError(f"all {self.trials_allowed} judge calls of this session are used")
        number = len(self.trials) + 1
        kernel = self.frozen(file, f"trial-{number:02d}")
        settings = self.ctx.config["judge"]
        verdict = self.judge(kernel, self.ctx.workloads, settings["samples"], settings["seeds"], DEPTHS[depth])
        geomean = (verdict.get("timing") or {}).get("geomean") or {}
        speedup = (geomean.get("incumbent") or {}).get("value")
        good = verdict["status"] == "accepted" and depth == "full"
        sha256 = hashlib.sha256(kernel.read_bytes()).hexdigest()
        self.trials.append(Trial(number, sha256, good, speedup, verdict["reason"], kernel))
        artifacts.write_text(kernel.with_name("verdict.json"), json.dumps(verdict, indent=1, default=str) + "\n")
        return {"trial": number, **self._brief(verdict), "trials_left": self.trials_allowed - number}

    def _compile(self, file: str | None = None) -> dict[str, Any]:
        """Does it build and give right values on one workload? Not timed, and not one of the judge calls."""
        allowed = COMPILES_PER_TRIAL * self.trials_allowed
        if self.compiles >= allowed:
            raise InputError(f"all {allowed} compile calls of this session are used")
        self.compiles += 1
        kernel = self.frozen(file, f"compile-{self.compiles:02d}")
        verdict = self.judge(kernel, self.ctx.workloads[:1], self.ctx.config["judge"]["samples"], 1, "smoke")
        return {**self._brief(verdict), "compiles_left": allowed - self.compiles}

    def _brief(self, verdict: Mapping[str, Any]) -> dict[str, Any]:
        """A verdict on a short page."""
        timing = verdict.get("timing") or {"geomean": {}, "workloads": {}}
        checked = (verdict.get("correctness") or {}).get("workloads") or {}
        rows: dict[str, dict[str, Any]] = {
            key: {"correct": entry["passed"], "worst_error": entry["worst_error"]} for key, entry in checked.items()
        }
        for key, entry in timing["workloads"].items():
            others = {label: other["median_us"] for label, other in entry["contenders"].items()}
            own = {"median_us": entry["candidate"]["median_us"], "others_us": others}
            rows[key] = {**rows.get(key, {}), **own}
        found = {"status": verdict["status"], "reason": verdict["reason"], "stage": verdict.get("stage")}
        if not self.names.hidden:
            log = (verdict.get("log") or "")[-LOG_CHARS:]
            return {
                **found,
                "sentence": verdict["sentence"],
                "speedup": timing["geomean"],
                "workloads": rows,
                "log": log,
            }
        safe = verdict.get("stage") in BEFORE_RUNNING
        said = verdict["sentence"] if safe or verdict["status"] == "accepted" or timing["geomean"] else None
        log = (verdict.get("log") or "")[-LOG_CHARS:] if safe else "hidden: a kernel that has run knows sizes"
        return {**found, "sentence": said, "speedup": timing["geomean"], "workloads": rows, "log": log}

    def _profile(self) -> dict[str, Any]:
        return disguise.shown_profile(self.ctx, self.names)

    def _wiki(self, query: str = "") -> dict[str, Any]:
        return wiki.look_up(query, self.ctx.config, self.ctx.specs)

    def _memory(self) -> dict[str, Any]:
        keys = ("version", "outcome", "hypothesis", "lesson")
        return {"lessons": [{key: memory.get(key) for key in keys} for memory in self.ctx.memories]}

    def _status(self) -> dict[str, Any]:
        best = self.best()
        return {
            "judge_calls_left": self.trials_allowed - len(self.trials),
            "compile_calls_left": COMPILES_PER_TRIAL * self.trials_allowed - self.compiles,
            "best_trial": best.number if best else None, "best_speedup": best.speedup if best else None,
        }  # fmt: skip

    def best(self) -> Trial | None:
        """The fastest kernel that the judge accepted in full in this session."""
        good = [trial for trial in self.trials if trial.good and trial.speedup is not None]
        return max(good, key=lambda trial: trial.speedup or 0.0, default=None)
