from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from kernelwright import paths
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.profilers import perf, registry, tools
from kernelwright.profilers.base import Target

COUNTS = """# started on Mon

1000,,cycles:u,1,100.00,,
2500,,instructions:u,1,100.00,2.5,insn per cycle
<not supported>,,cache-misses,0,100.00,,
4.0,msec,task-clock,4000000,100.00,0.9,CPUs utilized
0,,context-switches,1,100.00,0.0,/sec
"""


def test_counts_become_metrics_per_call(tmp_path):
    path = tmp_path / "perf.csv"
    path.write_text(COUNTS)
    found = perf.metrics(perf.read(path), calls=2)
    assert found["instructions_per_cycle"]["value"] == 2.5
    assert found["instructions_per_call"]["value"] == 1250
    assert found["processor_time_us"]["value"] == 2000
    assert found["context_switches_per_call"]["value"] == 0
    assert found["cache_miss_share"]["value"] is None  # the machine has no such counter


@pytest.mark.parametrize(
    ("text", "fault"), [("# nothing\n", "counted nothing"), ("many,,cycles,1\n", "is not a count")]
)
def test_a_file_of_another_form_is_named(tmp_path, text, fault):
    path = tmp_path / "perf.csv"
    path.write_text(text)
    with pytest.raises(KernelwrightError, match=fault):
        perf.read(path)


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
def test_only_the_calls_are_counted(tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text((paths.operators_dir() / "l2_norm" / "reference.py").read_text())
    target = Target(paths.operators_dir() / "l2_norm", kernel, "cpu_1x2048", "cpu", {}, tmp_path, 120.0)
    found = perf.measure(target)["metrics"]
    assert 0 < found["processor_time_us"]["value"] < 1e5  # a start of python with torch takes over a second


def test_a_tool_that_fails_or_hangs_says_so_in_one_line(tmp_path):
    with pytest.raises(KernelwrightError, match="sh failed with exit code 3: ==ERROR== no permission"):
        tools.run(["sh", "-c", "echo '==ERROR== no permission'; echo later; exit 3"], tmp_path, 20)
    with pytest.raises(KernelwrightError, match="sleep took longer than 0 s"):
        tools.run(["sleep", "20"], tmp_path, 0.1)
    with pytest.raises(KernelwrightError, match="does not start"):
        tools.run([str(tmp_path / "nothing")], tmp_path, 1)


def test_profilers_are_those_of_the_vendor_and_of_plugins(monkeypatch):
    assert [name for name, _ in registry.chosen("auto", "nvidia")] == ["ncu"]
    assert [name for name, _ in registry.chosen("auto", "amd")] == ["rocprof"]
    assert registry.chosen([], "cpu") == []
    with pytest.raises(InputError, match=r"knowledge\.profilers: 'nsys' is not one of auto, ncu, rocprof, perf"):
        registry.chosen(["nsys"], "nvidia")
    plugin = SimpleNamespace(NAME="team", VENDORS=("cpu",))
    entry = SimpleNamespace(name="team", value="team:profiler", load=lambda: plugin)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    assert registry.chosen("auto", "cpu")[-1] == ("team", plugin)
    monkeypatch.setattr(registry, "entry_points", lambda group: [SimpleNamespace(name="ncu", value="x")])
    with pytest.raises(InputError, match="the name is taken"):
        registry.everyone()


def test_the_target_names_the_process_to_watch():
    target = Target(Path("/op"), Path("/k.py"), "w", "nvidia", {}, Path("/tmp"), 1.0)
    assert target.command("python")[:3] == ["python", "-m", "kernelwright.profilers.once"]
    assert target.command("python")[-1] == "cuda"
