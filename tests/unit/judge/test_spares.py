"""Children made in advance, on the CPU, where they are not needed but work the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kernelwright.judge.devices import Device
from kernelwright.judge.service import Service
from kernelwright.judge.spares import Spares, copy_files

CONFIG = {"layout": "native", "contender": None}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.close()


def test_a_spare_is_used_once_and_replaced(service: Service, tmp_path: Path) -> None:
    spares = Spares(service, Device("cpu", True, "cpu"))
    first = spares.take(CONFIG, [str(tmp_path)], "a" * 64)
    spares.replenish()
    spares.settle()
    second = spares.take(CONFIG, [str(tmp_path)], "a" * 64)
    assert first.pid != second.pid and not spares.waiting
    for worker in (first, second):
        worker.close()
    spares.close()


def test_compile_caches_pass_between_processes_of_one_text(service: Service) -> None:
    spares = Spares(service, Device("cpu", True, "cpu"))
    code = "import os; path = os.environ['TRITON_CACHE_DIR'] + '/kept'; print(os.path.exists(path)); open(path, 'w')"
    seen = []
    for sha256 in ("b" * 64, "b" * 64, "c" * 64):
        worker = spares.take(CONFIG, [], sha256)
        worker.ask({"op": "load", "filename": "probe.py", "source": code}, 60)
        seen.append(worker.log().strip())
        worker.close()
    spares.close()
    if "kept compile cache" in worker.missing or "user and mount namespaces" in worker.missing:
        pytest.skip("this machine gives no mounts")
    assert seen == ["False", "True", "False"]


def test_only_regular_files_that_are_missing_are_copied(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "deep").mkdir(parents=True)
    target.mkdir()
    (source / "deep" / "new").write_text("new")
    (source / "same").write_text("theirs")
    (target / "same").write_text("mine")
    (source / "link").symlink_to("/etc/passwd")
    copy_files(str(source), str(target))
    assert (target / "deep" / "new").read_text() == "new"
    assert (target / "same").read_text() == "mine"
    assert not (target / "link").exists()
