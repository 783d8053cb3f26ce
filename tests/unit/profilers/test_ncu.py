from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from kernelwright import artifacts
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.profilers import ncu, tools
from kernelwright.profilers.base import Target

PACKED = Path(__file__).parents[2] / "fixtures" / "ncu" / "elementwise_h200.ncu-rep.xz"
LAUNCH = {"launch_us": {"value": 4.2, "source": "test", "confidence": "measured"}}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("ncu") / "elementwise_h200.ncu-rep"
    path.write_bytes(lzma.decompress(PACKED.read_bytes()))
    return path


@pytest.fixture(scope="module")
def found(report):
    (values,) = ncu.kernels(report)
    return ncu.sections(values, LAUNCH)


def test_a_real_report_of_an_h200_is_read(found):
    line = found["roofline"]
    assert line["achieved_bandwidth_gb_s"] == pytest.approx(4109.9, rel=1e-3)
    assert line["flops"] == pytest.approx(2**26, rel=1e-6)  # one addition an element
    assert line["memory_share"] == pytest.approx(0.854, abs=1e-3)
    assert found["traffic"]["read_bytes"] == pytest.approx(2**28, rel=0.01)
    assert found["traffic"]["load_efficiency"] == 1.0
    assert found["metrics"]["device_time_us"] == {"value": 124.672, "unit": "us", "note": "of the dominant kernel"}


def test_its_occupancy_has_limits(found):
    occupancy = found["occupancy"]
    assert occupancy["achieved"] == pytest.approx(0.854, abs=1e-3)
    assert (occupancy["theoretical"], occupancy["limiters"]) == (1.0, ["warps"])
    assert occupancy["blocks_per_unit"]["registers"] == 21


def test_its_stalls_and_pipes_are_shares_in_order(found):
    assert found["stalls"][0]["reason"] == "long_scoreboard"
    for name in ("stalls", "instruction_mix"):
        shares = [row["share"] for row in found[name]]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1, abs=0.01)


def test_a_copy_like_kernel_is_bound_by_memory(found):
    first = found["bottlenecks"][0]
    assert (first["bound"], first["evidence"]) == ("memory", ["memory_throughput_share"])
    assert first["expected_gain"] == pytest.approx(1.17, abs=0.01)


def test_the_sections_are_those_of_a_profile(found, tmp_path):
    body = {"bucket": "b00", "version": 1, "tool": "ncu", "kernel_sha256": "0" * 64, "workloads": ["w"], **found}
    artifacts.write(tmp_path / "profile.json", "profile", body)


def test_the_command_prints_sections(report, capsys, tmp_path):
    assert ncu.main([str(report), "--platform", "h200"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["kernel"], printed["hot"][0]["calls"]) == ("k", 1)
    assert ncu.main([str(report), "--output", str(tmp_path / "found.json")]) == 0
    assert "bottlenecks" in artifacts.read_json(tmp_path / "found.json")


def test_what_is_no_report_is_named(tmp_path):
    with pytest.raises(InputError, match="no such report"):
        ncu.kernels(tmp_path / "nothing.ncu-rep")
    (tmp_path / "text.ncu-rep").write_text("hello")
    with pytest.raises(InputError, match="no kernel in it"):
        ncu.kernels(tmp_path / "text.ncu-rep")


def test_the_dominant_kernel_has_the_most_time_over_its_launches():
    rows = [{"name": "a", ncu.DURATION: 5e3}, {"name": "b", ncu.DURATION: 3e3}, {"name": "b", ncu.DURATION: 3e3}]
    assert ncu.dominant(rows) == "b"
    assert [(row["name"], row["calls"]) for row in ncu.hot(rows)] == [("b", 2), ("a", 1)]


def test_metrics_that_a_report_lacks_are_unknown():
    found = ncu.sections({"name": "k", ncu.DURATION: 1e3}, {})
    assert found["roofline"]["flops"] is None
    assert found["metrics"]["spill_instructions"]["value"] is None
    assert found["stalls"] == []
    assert found["bottlenecks"] == []


def target(folder):
    return Target(folder, folder / "kernel.py", "w", "nvidia", LAUNCH, folder, 60.0)


def test_a_survey_precedes_the_full_set_on_the_dominant_kernel(tmp_path, monkeypatch, report):
    ran = []

    def run(command, folder, timeout_s):
        ran.append(command)
        path = Path(command[command.index("--export") + 1])
        path.write_bytes(report.read_bytes())

    monkeypatch.setattr(tools, "found", lambda name, *places: "/bin/ncu")
    monkeypatch.setattr(tools, "run", run)
    found = ncu.measure(target(tmp_path))
    assert [command[command.index("--kernel-name") + 1] for command in ran if "--kernel-name" in command] == ["k"]
    assert ncu.DURATION in ran[0]
    assert ran[1][ran[1].index("--set") + 1] == "full"
    assert all("kernelwright.profilers.once" in command for command in ran)
    assert found["hot"][0]["name"] == "k"


def test_without_ncu_the_reason_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "found", lambda name, *places: None)
    assert ncu.availability() == (False, "ncu is not on PATH: install Nsight Compute")
    with pytest.raises(KernelwrightError, match="ncu is not on PATH"):
        ncu.measure(target(tmp_path))


def test_source_counters_are_added_when_asked():
    assert "SourceCounters" in ncu.full_flags(Path("r"), "k", True)
    assert "SourceCounters" not in ncu.full_flags(Path("r"), "k", False)
