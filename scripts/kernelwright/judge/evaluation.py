"""One request on its way through the stages: contract, compile, problem, smoke, correctness, timing, policy."""

from __future__ import annotations

import functools
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from kernelwright import paths
from kernelwright.errors import InputError
from kernelwright.judge import contract, devices, places, policy, problem, timing, transport
from kernelwright.judge.correctness import Correctness, Report, regimes_by_workload, spikes
from kernelwright.judge.devices import Device
from kernelwright.judge.draft import Draft
from kernelwright.judge.faults import Fault
from kernelwright.judge.inputs import OracleClient, fresh_seed
from kernelwright.judge.request import JudgeRequest
from kernelwright.judge.subject import Subject
from kernelwright.operators.model import Operator
from kernelwright.sandbox import walls

if TYPE_CHECKING:
    from kernelwright.judge.service import Service

CONFIRMING_SAMPLES = 5
PROFILED_WORKLOADS = 4


@functools.cache
def hidden_folders() -> tuple[str, ...]:
    """What no candidate needs to see: operators, results, tests."""
    root = paths.project_root()
    return tuple(str(folder) for folder in (paths.operators_dir(), root / "results", root / "tests") if folder.is_dir())


class Evaluation:
    """One request on its way through the stages."""

    def __init__(
        self, service: Service, request: JudgeRequest, operator: Operator, workloads: list[str], device: Device
    ) -> None:
        self.service = service
        self.request = request
        self.operator = operator
        self.workloads = workloads
        self.device = device
        self.transport = transport.of(device.name)
        self.draft = Draft(request, operator.name, workloads)
        self.subjects: list[Subject] = []
        self.seeds: list[int] = []
        self.native_before: set[str] = set()

    def run(self) -> dict[str, Any]:
        try:
            self._stages()
        except Fault as fault:
            self.service.check_alive()
            if fault is not self.draft.fault:
                self.draft.fault = fault
            if fault.status == "invalid_problem":
                self.service.forget(self.operator)
        finally:
            self._close_subjects()
        return self.draft.body({"seeds": self.seeds, **device_facts(self.device)})

    def _close_subjects(self) -> None:
        if self.subjects:
            self.draft.log = self.subjects[0].worker.log() or self.draft.log
        for subject in self.subjects:
            subject.close()
        self.subjects = []

    def _stages(self) -> None:
        draft, request = self.draft, self.request
        with draft.running("contract") as entry:
            source = contract.freeze(request.candidate, self.operator.candidate_name)
            draft.sha256 = source.sha256
            draft.evidence += contract.check_text(source, request.framework, request.mode)
            entry["checks"] = 3
            against = self._freeze_against()
            self._expect_children()
        with draft.running("compile") as entry:
            candidate = self._candidate("candidate", source)
            entry["checks"] = 1
        with devices.lock(self.device):
            oracle = self.service.oracle(self.operator, self.device)
            self._problem(oracle)
            self._correct(candidate, oracle)
            if request.depth in ("race", "full"):
                candidate = self._timed(source, against, oracle)
            else:
                draft.skip("timing", f"depth {request.depth}")
            if request.depth in ("correctness", "full"):
                self._policy(candidate, source, oracle)
            else:
                draft.skip("policy", f"depth {request.depth}")
            if request.depth == "full" and against is not None:
                self._compare(source, against, oracle)

    def _expect_children(self) -> None:
        full = self.request.depth == "full"
        kernels = 1 + full + (full and self.request.against is not None)
        contenders = len(self.request.contenders) if self.request.depth in ("race", "full") else 0
        profiled = int(self.request.depth in ("correctness", "full"))
        self.service.expect(self.device, self._hidden(), kernels, contenders, profiled, reference_cache())

    def _freeze_against(self) -> contract.Source | None:
        if self.request.against is None:
            return None
        try:
            source = contract.freeze(self.request.against, self.operator.candidate_name)
        except Fault as fault:
            raise InputError(f"judge request: against: {fault.sentence}") from None
        self.draft.against = {"label": self.request.against_label, "sha256": source.sha256}
        return source

    def _subject(self, label: str, contender: str | None, sha256: str = "", profiled: bool = False) -> Subject:
        """A child for the candidate (contender None, behind all walls) or for one of the judge's own contenders."""
        config = {"layout": self.operator.layout, "contender": contender}
        if contender is None:
            worker = self.service.kernel_worker(self.device, config, self._hidden(), sha256, profiled)
        else:
            config["operator_dir"] = str(self.operator.source)
            worker = self.service.contender_worker(self.device, config, reference_cache())
        return self.transport.subject(
            label, worker, self.operator, self.request.call_timeout_s, self.request.compile_timeout_s
        )

    def _hidden(self) -> list[str]:
        folders = [
            str(self.operator.directory),
            *hidden_folders(),
            self.service.zygote.builds,
            os.path.dirname(os.path.abspath(self.request.candidate)),
        ]
        results = Path.cwd() / "results"
        folders += [str(results)] if results.is_dir() else []
        return walls.outermost(folders, self.service.zygote.root)

    def _candidate(self, label: str, source: contract.Source) -> Subject:
        """A walled child with the kernel imported."""
        subject = self._subject(label, None, source.sha256)
        if label == "candidate":
            self.subjects.insert(0, subject)
            self.draft.isolation = isolation(subject.worker.missing)
        else:
            self.subjects.append(subject)
        subject.calibrate()
        if label == "candidate":
            self.native_before = policy.native_files(subject.worker.pid)
        subject.load(f"kernel_{source.sha256[:12]}.py", source.text, source.encoding)
        return subject

    def _problem(self, oracle: OracleClient) -> None:
        """Soundness of the operator, over the requested workloads and then the rest of the platform's set; kept."""
        key = (str(self.operator.source), self.operator.digest())
        with self.draft.running("problem") as entry:
            if key not in self.service.sound:
                try:
                    self.service.sound[key] = problem.check(self.operator, oracle, self._proving_workloads())
                except Fault as fault:
                    self.service.sound[key] = fault
            known = self.service.sound[key]
            if isinstance(known, Fault):
                raise known
            entry["checks"], note = known
            if note:
                entry["note"] = note

    def _proving_workloads(self) -> list[str]:
        return list(dict.fromkeys([*self.workloads, *self.operator.workload_ids(self.device.workload_set)]))

    def _correct(self, candidate: Subject, oracle: OracleClient) -> None:
        """Smoke and, unless only that was asked, all workloads, edge workloads, seeds and regimes."""
        check = Correctness(candidate, oracle)
        try:
            with self.draft.running("smoke") as entry:
                check.smoke(self.workloads[0])
                entry["checks"] = total(check.reports) + timing.check_queued(candidate, oracle, self.workloads[0])
            if self.request.depth in ("smoke", "race"):
                self.draft.skip("correctness", f"depth {self.request.depth}")
                return
            with self.draft.running("correctness") as entry:
                regimes = regimes_by_workload(self.workloads, self.operator.value_regimes)
                for workload in self.workloads:
                    check.full(workload, self.request.seeds, regimes[workload])
                for workload in self.operator.edge_workloads:
                    check.full(workload, 1, spikes(self.operator.value_regimes))
                entry["checks"] = total(check.reports)
            self.draft.stages.append(
                {
                    "name": "determinism",
                    "status": "passed",
                    "checks": len(check.reports),
                    "note": "equal bits in repeated calls"
                    if self.operator.deterministic
                    else "contract allows other bits",
                }
            )
        finally:
            self.seeds = check.seeds
            failed = self.draft.fault.workload if self.draft.fault is not None else None
            self.draft.correctness = {key: report.entry(key != failed) for key, report in check.reports.items()}
            if self.draft.fault is not None and self.draft.fault.reason == "nondeterministic":
                self.draft.stage = "determinism"

    def _timed(self, source: contract.Source, against: contract.Source | None, oracle: OracleClient) -> Subject:
        """Time the candidate, in a process that was treated like every contender's from its start; returns it.

        A race spares that process: what it saw is one smoke check, and its winner is judged in full anyway.
        """
        notes: list[str] = []
        with self.draft.running("timing") as entry:
            if self.request.depth == "race":
                candidate = self.subjects[0]
            else:
                self._close_subjects()
                candidate = self._candidate("candidate", source)
            self._first_calls(candidate, oracle)
            policy.check_background(candidate)
            contenders = self._contenders(against, oracle, notes)
            self.service.quiet(self.device)
            notes += [said for said in (devices.busy(),) if said]
            times = {}
            for workload in self.workloads:
                try:
                    times[workload] = timing.time_workload(
                        [candidate, *contenders],
                        oracle,
                        workload,
                        self.request.samples,
                        timing.RACE_VERIFIED if self.request.depth == "race" else timing.MIN_VERIFIED,
                    )
                except Fault as fault:
                    fault.workload = fault.workload or workload
                    raise
            notes += [f"GPU at the end: {state}" for state in (self.transport.condition(),) if state]
            self.draft.timing = timing.summary(
                times, self.request.floors_us, self.request.confidence, notes, candidate.method
            )
            entry["checks"] = sum(item.verified for item in times.values())
            timing.check_floor(self.draft.timing)
            policy.check_background(candidate)
            return candidate

    def _contenders(self, against: contract.Source | None, oracle: OracleClient, notes: list[str]) -> list[Subject]:
        """The other kernels, each in a child of its own; one that cannot run is left out and named in the notes."""
        found: list[Subject] = []
        for name in self.request.contenders:
            subject = self._subject(name, name)
            self.subjects.append(subject)
            try:
                subject.calibrate()
                self._first_calls(subject, oracle)
            except Fault as fault:
                notes.append(f"{name} left out: {fault.sentence}")
                continue
            found.append(subject)
        if against is not None:
            found.append(self._try_against(against, oracle))
        return found

    def _first_calls(self, subject: Subject, oracle: OracleClient) -> None:
        """Every workload once: what fails on one is not timed on any.

        Where looking costs more than timing, the judge's own contenders only have to run, and the candidate of a full
        judgement has just been looked at.
        """
        check = Correctness(subject, oracle)
        for workload in self.workloads:
            if subject.queues and subject.label in self.request.contenders:
                check.run(workload)
            elif not (subject.queues and subject is self.subjects[0] and self.request.depth == "full"):
                check.smoke(workload, poison=None)

    def _try_against(self, against: contract.Source, oracle: OracleClient) -> Subject:
        try:
            subject = self._candidate(self.request.against_label, against)
            self._first_calls(subject, oracle)
        except Fault as fault:
            raise InputError(
                f"judge request: against: {self.request.against} does not work: {fault.sentence}"
            ) from None
        return subject

    def _compare(self, source: contract.Source, against: contract.Source, oracle: OracleClient) -> None:
        """The candidate must be faster, and be it again when both run in processes of their own anew.

        Where memory happens to lie makes one process a few per cent faster than the next; an interval over the samples
        of one pair of processes does not know that.
        """
        label, wanted = self.request.against_label, self.request.min_improvement
        assert self.draft.timing is not None
        with self.draft.running("timing") as entry:
            entry |= {"note": f"comparison with {label}", "checks": 1}
            timing.check_faster(self.draft.timing, label, wanted)
            self._close_subjects()
            fresh = [self._candidate("candidate", source), self._candidate(label, against)]
            samples = max(CONFIRMING_SAMPLES, self.request.samples // 2)
            times = {workload: timing.time_workload(fresh, oracle, workload, samples) for workload in self.workloads}
            found = timing.summary(times, {}, self.request.confidence, [])["geomean"][label]
            entry["checks"] = 2
            timing.check_confirmed(found, label, wanted)
            self.draft.timing["notes"].append(
                f"confirmed in fresh processes: {found['value']:.3f} ({found['low']:.3f} to {found['high']:.3f}) "
                f"times the {label}'s speed"
            )

    def _policy(self, candidate: Subject, source: contract.Source, oracle: OracleClient) -> None:
        with self.draft.running("policy") as entry:
            queues = candidate.queues
            if queues:
                loaded = self._loaded(candidate)  # now, for its process ends: another one is profiled
                candidate = self._profiled_child(source)
            reply = self._profile(candidate, oracle)
            seen = None if queues else places.look(candidate)
            self.draft.own_share, evidence = policy.judge(
                reply, self.request.framework, self.request.mode, candidate.attribution, seen
            )
            self.draft.evidence += evidence
            if not queues:
                loaded = self._loaded(candidate)
            entry["checks"] = 2
            if loaded:
                self.draft.evidence.append(f"native files loaded: {', '.join(loaded[:5])}")
                if self.request.mode == "production":
                    raise Fault("external_loading", f"native code was loaded from {loaded[0]}")

    def _loaded(self, candidate: Subject) -> list[str]:
        """Native files of neither the machine nor the candidate that its process has loaded."""
        own = (candidate.worker.private, candidate.worker.build)
        return policy.foreign_files(self.native_before, policy.native_files(candidate.worker.pid), own)

    def _profiled_child(self, source: contract.Source) -> Subject:
        """The candidate again, where the device's profiler has been made ready: that takes seconds."""
        self._close_subjects()
        subject = self._subject("candidate", None, source.sha256, profiled=True)
        self.subjects = [subject]
        subject.calibrate()
        subject.load(f"kernel_{source.sha256[:12]}.py", source.text, source.encoding)
        return subject

    def _profile(self, candidate: Subject, oracle: OracleClient) -> dict[str, Any]:
        """A profile of the largest of a few secretly chosen workloads; on a device with a queue, of all of them."""
        chosen = secrets.SystemRandom().sample(self.workloads, min(PROFILED_WORKLOADS, len(self.workloads)))
        built = [(workload, oracle.build([(workload, fresh_seed(), "normal")])) for workload in chosen]
        rows: list[Any] = []
        reply: dict[str, Any] = {}
        for workload, sets in built if candidate.queues else [max(built, key=lambda item: item[1].set_bytes())]:
            candidate.attach(sets)
            candidate.prepare(oracle, workload)
            candidate.warm_up(1)
            reply = policy.profile(candidate)
            rows += reply["rows"]
        for _, sets in built:
            oracle.drop(sets)
        return {**reply, "rows": rows}


def total(reports: dict[str, Report]) -> int:
    return sum(report.checks for report in reports.values())


def isolation(missing: list[str]) -> dict[str, Any]:
    """verdict.isolation from the protections that could not be had."""
    walls = {"user and mount namespaces", "network namespace", "process-id namespace"}
    return {"level": "process" if walls & set(missing) else "namespaces", "missing": list(missing)}


@functools.cache
def device_facts(device: Device) -> dict[str, Any]:
    return devices.facts(device)


@functools.cache
def reference_cache() -> str:
    """Compile cache of the judge's own compiled contender; no candidate can write there."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "kernelwright" / f"reference-{torch.__version__}"
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)
