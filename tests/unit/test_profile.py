from __future__ import annotations

from types import SimpleNamespace

import pytest
from kernelwright import artifacts, profile
from kernelwright.errors import KernelwrightError
from kernelwright.paths import Campaign

KERNEL = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, w):
        return x * w
"""
INPUT = """
import torch

def _make_inputs(rows: int, hidden: int):
    return {"x": torch.randn(rows, hidden), "w": torch.randn(hidden)}
"""
SHAPES = '{"a": {"init_kwargs": {}, "input_kwargs": {"rows": 5, "hidden": 64}}}'


def specs_of(sizes):
    return {"workloads": {key: {"traffic": {"read_bytes": size, "write_bytes": 0}} for key, size in sizes.items()}}


def test_representative_workloads_span_the_sizes():
    sizes = {f"w{size}": size for size in (5, 1, 9, 3, 7, 2, 8)}
    assert profile.representative(list(sizes), specs_of(sizes)) == ["w1", "w3", "w7", "w9"]
    assert profile.representative(["w5", "w1"], specs_of(sizes)) == ["w1", "w5"]


def test_a_profile_is_reused_for_the_same_kernel_and_specs_only(tmp_path):
    campaign = Campaign(tmp_path, "op", "cpu", "cpp", "leaderboard")
    artifacts.write_text(campaign.specs, "{}")
    body = {
        "bucket": "b00", "version": 1, "tool": "torch.profiler", "kernel_sha256": "a" * 64, "workloads": ["w"],
        "metrics": {"latency_us": {"value": 1.0, "unit": "us"}}, "bottlenecks": [],
    }  # fmt: skip
    parents = {"specs.json": artifacts.sha256_file(campaign.specs)}
    artifacts.write(campaign.version_dir("b00", 1) / "profile.json", "profile", body, parents=parents)
    assert profile.reusable(campaign, "b00", 2, "a" * 64, ["w"])["metrics"]["latency_us"]["value"] == 1.0
    assert profile.reusable(campaign, "b00", 2, "b" * 64, ["w"]) is None
    assert profile.reusable(campaign, "b00", 2, "a" * 64, ["w", "v"]) is None
    assert profile.reusable(campaign, "b00", 1, "a" * 64, ["w"]) is None
    artifacts.write_text(campaign.specs, "{ }")
    assert profile.reusable(campaign, "b00", 2, "a" * 64, ["w"]) is None


def timing_file(path, **medians):
    """A verdict whose one workload `w` has these medians; candidate beside its contenders."""
    medians = {name: {"median_us": value} for name, value in medians.items()}
    entry = {"candidate": medians.pop("candidate"), "contenders": medians}
    artifacts.write_text(path, artifacts.json.dumps({"timing": {"workloads": {"w": entry}}}))


def test_torch_compile_is_compared_through_the_reference(tmp_path):
    campaign = Campaign(tmp_path, "op", "cpu", "cpp", "leaderboard")
    timing_file(campaign.root / "baseline/verdict.json", candidate=100.0, reference=100.0, compiled=50.0)
    timing_file(campaign.version_dir("b00", 1) / "verdict.json", candidate=50.0, reference=200.0)
    base = {"version": 0, "kernel_path": "baseline/kernel.py"}
    own = {"version": 1, "kernel_path": "b00/v001/candidate/kernel.py"}
    assert profile.torch_compile_speedups(campaign, base, ["w"]) == pytest.approx([2.0])
    assert profile.torch_compile_speedups(campaign, own, ["w"]) == pytest.approx([0.5])
    assert profile.torch_compile_speedups(campaign, own, ["w", "unmeasured"]) is None


@pytest.fixture
def operator_dir(tmp_path):
    folder = tmp_path / "operator"
    folder.mkdir()
    (folder / "reference.py").write_text(KERNEL)
    (folder / "input.py").write_text(INPUT)
    (folder / "shapes.json").write_text(SHAPES)
    return folder


def test_a_child_measures_a_kernel(operator_dir):
    raw = profile.measure_in_child(operator_dir, operator_dir / "reference.py", ["a"], "cpu", 120)
    row = raw["workloads"]["a"]
    assert row["latency_us"] > 0
    assert row["one_thread_us"] > 0
    assert row["operators"] == 1
    assert row["hot"][0]["name"] == "aten::mul"
    assert raw["dispatch_us"] > 0


def test_a_kernel_that_raises_is_reported_in_one_line(operator_dir, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('cannot build')\n")
    with pytest.raises(KernelwrightError, match="profiling failed: RuntimeError: cannot build"):
        profile.measure_in_child(operator_dir, broken, ["a"], "cpu", 120)


def tool(answer, available=True):
    def measure(target):
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    return SimpleNamespace(availability=lambda: (available, "it is not here"), measure=measure)


def with_tools(monkeypatch, tmp_path, tools):
    (tmp_path / "kernel.py").write_text("")
    monkeypatch.setattr(profile.registry, "chosen", lambda setting, vendor: tools)
    body = {"metrics": {"latency_us": {"value": 1.0, "unit": "us"}}, "bottlenecks": [ENTRY | {"bound": "launch"}]}
    specs = {"platform": {"vendor": "nvidia", "facts": {}}}
    used = profile.add_tools(body, tmp_path, tmp_path / "kernel.py", "w", specs, "auto", 9.0)
    return used, body


ENTRY = {"bound": "memory", "evidence": ["m"], "expected_gain": 2.0}


def test_a_tool_adds_its_sections(monkeypatch, tmp_path):
    found = {"metrics": {"m": {"value": 1.0, "unit": "1"}}, "bottlenecks": [ENTRY], "stalls": []}
    used, body = with_tools(monkeypatch, tmp_path, [("ncu", tool(found))])
    assert used == ["ncu"]
    assert set(body["metrics"]) == {"latency_us", "m"}
    assert [entry["bound"] for entry in body["bottlenecks"]] == ["launch", "memory"]
    assert body["stalls"] == []


def test_a_tool_that_is_absent_or_fails_leaves_a_note(monkeypatch, tmp_path):
    tools = [("ncu", tool({}, available=False)), ("team", tool(KernelwrightError("no permission")))]
    used, body = with_tools(monkeypatch, tmp_path, tools)
    assert used == []
    assert body["notes"] == ["ncu: it is not here", "team: no permission"]
    assert [entry["bound"] for entry in body["bottlenecks"]] == ["launch"]


def test_counters_lead_unless_launch_does():
    own = [ENTRY | {"bound": "memory"}, ENTRY | {"bound": "latency"}]
    device = [ENTRY | {"bound": "sync"}, ENTRY | {"bound": "memory", "score": 0.2}]
    merged = profile.summary.merged(device, own)
    assert [entry["bound"] for entry in merged] == ["sync", "memory", "latency"]
    assert merged[1]["score"] == 0.2
    assert profile.summary.merged([], own) == own
