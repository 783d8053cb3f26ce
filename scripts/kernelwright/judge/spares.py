"""Children made in advance where a device takes long to be ready: a CUDA context alone takes half a second.

A spare waits behind its walls with nothing of a candidate in it. It is used once. Its compile cache is a folder of its
own, filled from what earlier processes of the same source text built, and kept for later ones.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import stat
from collections import Counter
from typing import TYPE_CHECKING, Any

from kernelwright.judge.devices import Device
from kernelwright.judge.faults import Fault
from kernelwright.judge.worker import JudgeBroken, Worker

if TYPE_CHECKING:
    from kernelwright.judge.service import Service

WARM_TIMEOUT_S = 120.0
MAX_WAITING = 6
CONTENDER, PROFILED = ("contender",), ("profiled",)
Key = tuple[str, ...]


class Spares:
    """Workers by what they are for: the folders hidden from them, PROFILED and those, or CONTENDER and its cache."""

    def __init__(self, service: Service, device: Device) -> None:
        self.service = service
        self.device = device
        self.root = service.zygote.builds
        self.waiting: list[tuple[Key, Worker, str | None]] = []
        self.pending: set[int] = set()
        self.used: Counter[Key] = Counter()
        self.count = 0
        self.warm = {"op": "warm", "triton": importlib.util.find_spec("triton") is not None}

    def take(self, config: dict[str, Any], hidden: list[str], sha256: str, profiled: bool = False) -> Worker:
        """A ready child for a candidate with these folders hidden; `profiled`: with the profiler ready, which is slow."""
        worker, slot = self._get((*(PROFILED if profiled else ()), *hidden))
        assert slot is not None
        copy_files(self._built(sha256), slot)
        worker.on_close = lambda: self._keep(slot, sha256)
        worker.ask({"op": "configure", "config": config}, WARM_TIMEOUT_S)
        return worker

    def take_contender(self, config: dict[str, Any], build: str) -> Worker:
        worker, _ = self._get((*CONTENDER, build))
        worker.ask({"op": "configure", "config": config}, WARM_TIMEOUT_S)
        return worker

    def ahead(self, hidden: list[str], kernels: int, contenders: int, profiled: int, build: str) -> None:
        """Begin to make what an evaluation is going to take."""
        wishes = ((tuple(hidden), kernels), ((*CONTENDER, build), contenders), ((*PROFILED, *hidden), profiled))
        for key, wanted in wishes:
            for _ in range(wanted - sum(entry[0] == key for entry in self.waiting)):
                self.waiting.append((key, *self._make(key)))

    def _get(self, key: Key) -> tuple[Worker, str | None]:
        self.used[key] += 1
        for entry in self.waiting:
            if entry[0] == key:
                self.waiting.remove(entry)
                self._await(entry[1], entry[2])
                return entry[1:]
        worker, slot = self._make(key)
        self._await(worker, slot)
        return worker, slot

    def _make(self, key: Key) -> tuple[Worker, str | None]:
        """A child that begins to warm up."""
        blank = {"layout": "native", "contender": None}
        slot = None
        if key[:1] == CONTENDER:
            worker = self.service.worker_on(self.device, "contender", blank, build=key[1])
        else:
            hidden = key[1:] if key[:1] == PROFILED else key
            self.count += 1
            slot = os.path.join(self.root, f"slot-{self.count:05d}")
            os.mkdir(slot)
            copy_files(self._seed(), slot)
            worker = self.service.worker_on(self.device, "candidate", blank, hidden=list(hidden), build=slot)
        worker.post({**self.warm, "profiler": key[:1] == PROFILED})
        self.pending.add(worker.pid)
        return worker, slot

    def _await(self, worker: Worker, slot: str | None) -> None:
        if worker.pid not in self.pending:
            return
        try:
            worker.finish(self.warm, WARM_TIMEOUT_S)
            worker.stop()
        except Fault as fault:
            worker.close()
            raise JudgeBroken(f"a child of the judge cannot use the GPU: {fault.sentence} {fault.log[-500:]}") from None
        finally:
            self.pending.discard(worker.pid)
        if slot is not None and not os.path.isdir(self._seed()):
            copy_files(slot, self._seed())  # what warming up built; no candidate has run there

    def settle(self) -> None:
        """Wait until no spare works any more."""
        for _, worker, slot in self.waiting:
            self._await(worker, slot)

    def replenish(self) -> None:
        """As many as the last evaluation used, for the next one like it."""
        have = Counter(key for key, _, _ in self.waiting)
        for key, wanted in self.used.items():
            for _ in range(wanted - have[key]):
                self.waiting.append((key, *self._make(key)))
        self.used.clear()
        while len(self.waiting) > MAX_WAITING:
            self._drop(self.waiting.pop(0))

    def _drop(self, entry: tuple[Key, Worker, str | None]) -> None:
        _, worker, slot = entry
        self.pending.discard(worker.pid)
        worker.close()
        if slot is not None:
            shutil.rmtree(slot, ignore_errors=True)

    def close(self) -> None:
        while self.waiting:
            self._drop(self.waiting.pop())

    def _built(self, sha256: str) -> str:
        return os.path.join(self.root, sha256)

    def _seed(self) -> str:
        return os.path.join(self.root, "seed")

    def _keep(self, slot: str, sha256: str) -> None:
        """The slot's caches become those of the source text, whose earlier ones they contain."""
        shutil.rmtree(self._built(sha256), ignore_errors=True)
        with contextlib.suppress(OSError):
            os.rename(slot, self._built(sha256))


def copy_files(source: str, target: str) -> None:
    """Regular files with their times, those that `target` lacks: writing into a library that is loaded kills its user.

    Links and everything else stay behind, for a candidate may have made them.
    """
    for folder, _, names in os.walk(source):
        place = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(place, exist_ok=True)
        for name in names:
            path, copy = os.path.join(folder, name), os.path.join(place, name)
            with contextlib.suppress(OSError):
                if stat.S_ISREG(os.lstat(path).st_mode) and not os.path.lexists(copy):
                    shutil.copy2(path, copy, follow_symlinks=False)
