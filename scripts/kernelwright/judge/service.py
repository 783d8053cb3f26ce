"""The trusted process: it decides. It runs neither a candidate's nor an operator's code.

`Service.evaluate` takes a request through contract, compile, problem, smoke, correctness, determinism, timing and
policy, and returns a verdict whatever the candidate does. Warm between calls: the zygote, an oracle per operator and
the soundness of each operator.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import torch

from kernelwright import operators
from kernelwright.errors import InputError
from kernelwright.judge import devices, transport
from kernelwright.judge.devices import Device
from kernelwright.judge.evaluation import Evaluation
from kernelwright.judge.faults import Fault
from kernelwright.judge.inputs import OracleClient
from kernelwright.judge.request import JudgeRequest
from kernelwright.judge.spares import Spares
from kernelwright.judge.worker import GRACE_S, JudgeBroken, Worker, Zygote
from kernelwright.operators.model import Operator

MAX_ORACLES = 4


class Service:
    """One judge. Thread-safe by serialising: a measurement must not share the machine with another."""

    def __init__(self) -> None:
        torch.set_num_threads(
            1
        )  # OpenMP threads that spin after their work would take cores from the kernel that is timed
        torch.set_grad_enabled(False)
        self.zygote = Zygote()
        self.spares: Spares | None = None
        self.replenishing: threading.Thread | None = None
        self.oracles: dict[tuple[str, str], OracleClient] = {}
        self.sound: dict[tuple[str, str], tuple[int, str] | Fault] = {}
        self.guard = threading.Lock()

    def evaluate(self, request: JudgeRequest) -> dict[str, Any]:
        """The verdict's body plus `facts`. Raises InputError when the request itself is wrong."""
        with self.guard:
            torch.set_grad_enabled(False)  # a thread's own setting
            device = devices.resolve(request.platform)
            operator = operators.load(Path(request.operator_dir))
            workloads = chosen_workloads(operator, request, device)
            self._join_replenishing()
            self._revive()
            try:
                return Evaluation(self, request, operator, workloads, device).run()
            finally:
                if self.spares is not None:
                    self.replenishing = threading.Thread(target=self.spares.replenish)
                    self.replenishing.start()

    def _join_replenishing(self) -> None:
        if self.replenishing is not None:
            self.replenishing.join()
            self.replenishing = None

    def _revive(self) -> None:
        """A forking process that has ended is replaced between evaluations; in one, its children are lost with it."""
        if not self.zygote.alive():
            self._close_spares()
            self.zygote.close()
            self.oracles.clear()
            self.zygote = Zygote()

    def worker(self, role: str, config: dict[str, Any], **walls: Any) -> Worker:
        """A child forked now; `config` names the device."""
        self.check_alive(0.0)
        worker = self.zygote.fork(role, config, **walls)
        worker.settle = transport.of(config["device"]).settle
        return worker

    def worker_on(self, device: Device, role: str, config: dict[str, Any], **walls: Any) -> Worker:
        known = transport.of(device.name).child_config()
        return self.worker(role, {**known, **config}, bound_memory=device.bound_memory, **walls)

    def kernel_worker(
        self, device: Device, config: dict[str, Any], hidden: list[str], sha256: str, profiled: bool = False
    ) -> Worker:
        """A child behind all walls for a candidate, with the compile caches of its text."""
        if transport.of(device.name).keeps_spares:
            return self._spares(device).take(config, hidden, sha256, profiled)
        build = self.zygote.build_folder(sha256)
        return self.worker_on(device, "candidate", config, hidden=hidden, build=build)

    def contender_worker(self, device: Device, config: dict[str, Any], build: str) -> Worker:
        """A child for one of the judge's own contenders."""
        if transport.of(device.name).keeps_spares:
            return self._spares(device).take_contender(config, build)
        return self.worker_on(device, "contender", config, build=build)

    def _spares(self, device: Device) -> Spares:
        if self.spares is None or not self.zygote.alive():
            self._close_spares()
            self.spares = Spares(self, device)
        return self.spares

    def expect(
        self, device: Device, hidden: list[str], kernels: int, contenders: int, profiled: int, build: str
    ) -> None:
        """So many children will be asked for: those that take long to be ready begin now."""
        if transport.of(device.name).keeps_spares:
            self._spares(device).ahead(hidden, kernels, contenders, profiled, build)

    def quiet(self, device: Device) -> None:
        """Nothing of the judge works beside a measurement."""
        if self.spares is not None:
            self.spares.settle()
        transport.of(device.name).quiet()

    def _close_spares(self) -> None:
        if self.spares is not None:
            self.spares.close()
            self.spares = None

    def oracle(self, operator: Operator, device: Device) -> OracleClient:
        """The warm oracle of an operator as its files are now."""
        key = (str(operator.source), operator.digest())
        if key not in self.oracles:
            while len(self.oracles) >= MAX_ORACLES:
                self.oracles.pop(next(iter(self.oracles))).close()
            worker = self.worker_on(device, "oracle", {"operator_dir": str(operator.source)})
            self.oracles[key] = OracleClient(worker, transport.of(device.name).taker())
        return self.oracles[key]

    def check_alive(self, grace_s: float = GRACE_S) -> None:
        """Raises JudgeBroken where the judge's own forking process has ended, for all children end with it.

        Or ends within `grace_s`: its children may have been seen to end first.
        """
        if self.zygote.ended(grace_s):
            raise JudgeBroken("the judge's forking process has ended; nothing can be said about the kernel")

    def forget(self, operator: Operator) -> None:
        """Drop an oracle whose operator failed: its process may be in any state."""
        client = self.oracles.pop((str(operator.source), operator.digest()), None)
        if client is not None:
            client.close()

    def close(self) -> None:
        for client in self.oracles.values():
            client.close()
        self.oracles.clear()
        self._join_replenishing()
        self._close_spares()
        self.zygote.close()


def chosen_workloads(operator: Operator, request: JudgeRequest, device: Device) -> list[str]:
    """Requested workload ids, or the platform's set. Raises InputError naming an unknown one."""
    if request.workloads is None:
        return operator.workload_ids(device.workload_set)
    for key in request.workloads:
        operator.workload(key)
    if not request.workloads:
        raise InputError("judge request: workloads: empty; leave it out for the platform's set")
    return list(dict.fromkeys(request.workloads))
