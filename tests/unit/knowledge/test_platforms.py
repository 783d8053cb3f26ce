from pathlib import Path
from typing import Any

import pytest
from kernelwright import paths
from kernelwright.errors import InputError
from kernelwright.knowledge import platforms

NAMES = ["a100", "b200", "cpu", "h100", "h20", "h200", "mi300x", "mi308x", "mi355x", "zwm890p"]


def test_every_platform_of_the_vocabulary_is_there() -> None:
    assert set(NAMES) <= set(platforms.available())


@pytest.mark.parametrize("name", NAMES)
def test_files_say_where_facts_come_from(name: str) -> None:
    platform = platforms.load(name)
    assert platform.name == name
    assert platform.frameworks
    for fact, body in platform.facts.items():
        assert (body["value"] is None) == (body["confidence"] == "unknown"), fact
        assert len(body["source"]) > 5, fact
        assert platform.value(fact) == body["value"]
    assert platform.value("no_such_fact") is None


def test_only_the_processor_is_measured_at_run_time() -> None:
    measured = {name for name in NAMES if any(f["value"] == "measure" for f in platforms.load(name).facts.values())}
    assert measured == {"cpu"}


def test_alias_and_refusal() -> None:
    assert platforms.load("ppu").name == "zwm890p"
    for name in ("h300", "../cpu", ""):
        with pytest.raises(InputError, match="allowed: auto, a100, b200, cpu"):
            platforms.load(name)


@pytest.mark.parametrize(
    ("device", "vendor", "name"),
    [
        ("NVIDIA H200", "nvidia", "h200"),
        ("NVIDIA H20", "nvidia", "h20"),
        ("NVIDIA H20-3e", "nvidia", "h20"),
        ("NVIDIA H100 80GB HBM3", "nvidia", "h100"),
        ("NVIDIA A100-SXM4-80GB", "nvidia", "a100"),
        ("AMD Instinct MI300X OAM", "amd", "mi300x"),
    ],
)
def test_driver_names(device: str, vendor: str, name: str) -> None:
    assert platforms.match_device(device, vendor) == name


def test_detection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "nvidia_devices", list)
    monkeypatch.setattr(platforms, "amd_devices", list)
    assert platforms.detect() == "cpu"
    assert platforms.load("auto").name == "cpu"
    monkeypatch.setattr(platforms, "nvidia_devices", lambda: ["NVIDIA H200"])
    assert platforms.detect() == "h200"
    monkeypatch.setattr(platforms, "nvidia_devices", lambda: ["NVIDIA GeForce RTX 9090"])
    with pytest.raises(InputError, match="the driver names 'NVIDIA GeForce RTX 9090'"):
        platforms.detect()


def test_rocm_names(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["Marketing Name:          AMD EPYC 9654", "Marketing Name:          AMD Instinct MI300X"]
    monkeypatch.setattr(platforms, "tool_lines", lambda argv: lines)
    assert platforms.amd_devices() == ["AMD Instinct MI300X"]


def test_a_missing_tool_is_no_device() -> None:
    assert platforms.tool_lines(["no-such-tool-here"]) == []
    assert platforms.tool_lines(["false"]) == []


def test_file_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "platforms_dir", lambda: tmp_path)
    text = (paths.project_root() / "config" / "platforms" / "h20.yaml").read_text()
    (tmp_path / "other.yaml").write_text(text)
    with pytest.raises(InputError, match=r"other.yaml: name: 'h20' differs"):
        platforms.load("other")
    (tmp_path / "typo.yaml").write_text(text.replace("vendor: nvidia", "vendor: nvdia"))
    with pytest.raises(InputError, match='vendor: "nvdia" is not one of cpu, nvidia, amd, ppu'):
        platforms.load("typo")


def test_measure_is_replaced_and_the_unmeasurable_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelwright.knowledge import calibrate

    known = {"launch_us": {"value": 0.5, "source": "here", "confidence": "measured"}}
    monkeypatch.setattr(calibrate, "facts", lambda directory: known)
    facts = platforms.resolve_facts(platforms.load("cpu"))
    assert facts["launch_us"]["value"] == 0.5
    assert facts["memory_bandwidth_gb_s"]["value"] is None
    assert facts["memory_bandwidth_gb_s"]["confidence"] == "unknown"


def test_framework_answers() -> None:
    class Frameworks:
        @staticmethod
        def get(name: str) -> Any:
            if name == "absent":
                raise InputError("no module")
            return type("F", (), {"availability": staticmethod(lambda: (name == "ready", "why"))})

    assert [platforms.framework_ready(Frameworks, name) for name in ("ready", "broken", "absent")] == [
        True,
        False,
        False,
    ]
