import json
from pathlib import Path

import pytest
from kernelwright import artifacts
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.knowledge import calibrate


def cache(root: Path, core: int, index: int, level: int, kind: str, size: str, shared: str) -> None:
    folder = root / f"cpu{core}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in (("level", str(level)), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
        (folder / name).write_text(text + "\n")


def test_cache_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate.os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    for core in (0, 1, 2):
        cache(tmp_path, core, 0, 1, "Data", "32K", str(core))
        cache(tmp_path, core, 1, 1, "Instruction", "64K", str(core))
        cache(tmp_path, core, 2, 2, "Unified", "1024K", str(core))
        cache(tmp_path, core, 3, 3, "Unified", "16384K", "0-2")
    table = calibrate.cache_table(tmp_path)
    assert calibrate.last_level_bytes(table) == 16 * 2**20
    assert calibrate.private_bytes(table) == 2 * 2**20  # the third core is not ours


def test_no_cache_table_is_unknown(tmp_path: Path) -> None:
    table = calibrate.cache_table(tmp_path)
    assert calibrate.last_level_bytes(table) is None
    assert calibrate.private_bytes(table) is None
    assert calibrate.private_bytes({(1, "0"): 1, (2, "0"): 2}) is None  # a second level that is the last one


def test_best_seconds_is_the_shortest() -> None:
    calls = iter([0.002, 0.0, 0.002, 0.002, 0.002, 0.002])

    def call() -> None:
        end = calibrate.time.perf_counter() + next(calls)
        while calibrate.time.perf_counter() < end:
            pass

    assert calibrate.best_seconds(call, 0.0) < 0.002


def test_cached_file_is_read_and_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = calibrate.host_facts()
    fact = {"value": 3.0, "source": "test", "confidence": "measured"}
    measured: list[Path] = []

    def write(path: Path) -> None:
        measured.append(path)
        settings = {"threads": 1, "seconds_per_size": 0.1}
        body = {"host": host, "facts": {"launch_us": fact}, "settings": settings, "duration_s": 0.1}
        artifacts.write(path, "calibration", body)

    monkeypatch.setattr(calibrate, "measure_in_child", write)
    assert calibrate.facts(tmp_path) == calibrate.facts(tmp_path) == {"launch_us": fact}
    assert [path.name for path in measured] == [f"calibration-{host['digest']}.json"]
    record = json.loads(measured[0].read_text())
    measured[0].write_text(json.dumps({**record, "surplus": 1}))
    with pytest.raises(InputError, match="unknown key 'surplus'"):
        calibrate.facts(tmp_path)


def test_host_digest_follows_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    first = calibrate.host_facts()["digest"]
    assert first == calibrate.host_facts()["digest"]
    monkeypatch.setattr(calibrate, "METHOD", calibrate.METHOD + 1)
    assert first != calibrate.host_facts()["digest"]


def test_failed_child_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate.sys, "executable", "false")
    with pytest.raises(KernelwrightError, match="calibration of this machine failed"):
        calibrate.facts(tmp_path)


def test_cache_dir_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    assert calibrate.cache_dir() == tmp_path
    monkeypatch.delenv("KERNELWRIGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert calibrate.cache_dir() == Path("/x/kernelwright")


@pytest.mark.slow
def test_measurement_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "SECONDS_PER_SIZE", 0.06)
    path = tmp_path / "c.json"
    assert calibrate.main(["--output", str(path)]) == 0
    facts = artifacts.read(path, "calibration")["facts"]
    for name in ("memory_bandwidth_gb_s", "peak_fp32_tflops", "peak_bf16_tflops", "launch_us", "compute_units"):
        assert facts[name]["value"] > 0
