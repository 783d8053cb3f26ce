"""verify: verdicts without a judge run, the incumbent after a verdict, and the commit."""

from __future__ import annotations

import copy
import json

import git
import pytest
import yaml
from campaign_files import CONFIG, SHA, USAGE, campaign, plan
from kernelwright import artifacts, judging, stop, verify

TENSOR = {"dtype": "float32", "shape": ["rows"]}
SPECS = {
    "operator": {
        "name": "tiny", "layout": "native", "family": None, "directory_digest": SHA, "summary": "",
        "inputs": {"x": TENSOR}, "outputs": {"out": TENSOR}, "mutates": [], "tolerance": {}, "deterministic": True,
    },
    "platform": {"name": "cpu", "vendor": "cpu", "device": None, "facts": {
        "memory_bandwidth_gb_s": {"value": None, "source": "none", "confidence": "unknown"}}},
    "framework": "cpp",
    "mode": "leaderboard",
    "workloads": {"w0": {
        "init_kwargs": {}, "input_kwargs": {"rows": 1}, "axes": {},
        "traffic": {"read_bytes": None, "write_bytes": None, "flops": None, "source": "unknown"},
        "floor": {"memory_us": None, "compute_us": None, "launch_us": None, "floor_us": 2.0, "bound": "unknown"}}},
    "targets": {"utilization": None},
}  # fmt: skip


@pytest.fixture
def made(tmp_path):
    """A campaign with an operator folder and merged settings, ready for versions."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "reference.py").write_text("class Model:\n    def forward(self, x):\n        return x\n")
    (folder / "input.py").write_text("def _make_inputs(rows):\n    return {}\n")
    (folder / "shapes.json").write_text(json.dumps({"w0": {"init_kwargs": None, "input_kwargs": {"rows": 1}}}))
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    made = campaign(tmp_path)
    artifacts.write(made.specs, "specs", SPECS)
    return made


def propose(made, version, kernel, outcome="candidate_ready", status="planned", blocker=None):
    """Write what plan and candidate leave behind."""
    folder = made.version_dir("b00", version)
    artifacts.write(folder / "plan.json", "plan", {"bucket": "b00", "version": version, **plan(status, blocker)})
    artifacts.write_text(folder / "candidate" / "kernel.py", kernel)
    usage = {"agent": "search", "outcome": outcome, "note": "a note", "usage": USAGE}
    artifacts.write(folder / "candidate" / "usage.json", "usage", usage)


def judge_says(monkeypatch, status, reason, calls):
    """A judge that gives one answer and counts its calls."""
    estimate = {"value": 1.5, "low": 1.4, "high": 1.6}
    latency = {"median_us": 4.0, "low_us": 3.9, "high_us": 4.1, "samples_us": [4.0]}
    row = {
        "candidate": latency, "contenders": {"incumbent": latency}, "speedup": {"incumbent": estimate},
        "floor_us": 2.0, "share_of_floor": 0.5,
    }  # fmt: skip

    def evaluate(request):
        calls.append(request)
        body = {
            "status": status, "reason": reason, "sentence": "It was judged.", "stage": None if reason is None else "timing",
            "scope": {}, "kernel": {"path": "elsewhere", "sha256": artifacts.sha256_file(request["candidate"])},
            "against": {"label": "incumbent", "sha256": SHA}, "isolation": {"level": "process", "missing": []},
            "settings": judging.settings(CONFIG), "stages": [], "correctness": {"workloads": {}},
            "timing": {"method": "a clock", "workloads": {"w0": row}, "geomean": {"incumbent": estimate}},
            "policy": {"own_share": None, "evidence": []}, "incumbent": None, "duration_s": 1.0,
        }  # fmt: skip
        return copy.deepcopy(body), {"seeds": [1, 2, 3]}

    def request(specs, config, operator_dir, candidate, workloads, against=None, contenders=(), **more):
        return {"candidate": candidate, "workloads": list(workloads), "against": against, "contenders": contenders}

    monkeypatch.setattr(judging, "evaluate", evaluate)
    monkeypatch.setattr(judging, "request", request)


def run(made, version):
    folder = made.version_dir("b00", version)
    base = made.results.parent
    flags = ["--campaign", made.root, "--bucket", "b00", "--version", version, "--operator-dir", base / "tiny"]
    flags += ["--config", base / "config.yaml", "--output", folder / "verdict.json", "--memory", folder / "memory.json"]
    assert verify.main([str(flag) for flag in flags]) == 0
    return artifacts.read(folder / "verdict.json", "verdict"), artifacts.read(folder / "memory.json", "memory")


def test_accepted_candidate_is_the_incumbent_and_a_commit(made, monkeypatch):
    calls = []
    judge_says(monkeypatch, "accepted", None, calls)
    propose(made, 1, "# faster\n")
    verdict, memory = run(made, 1)
    assert calls[0]["against"] == made.baseline / "kernel.py" and calls[0]["contenders"] == ("reference",)
    assert verdict["incumbent"]["version"] == 1 and verdict["scope"]["bucket"] == "b00"
    assert verdict["kernel"]["path"] == "b00/v001/candidate/kernel.py"
    assert memory["share_of_floor"] == 0.5 and memory["tokens"] == 14
    assert stop.walk(made, "b00", CONFIG["stop"]).incumbent == verdict["incumbent"]
    head = git.Repo(made.workspace).head.commit
    assert "Speedup: 1.5" in head.message and head.tree["kernels/b00.py"].data_stream.read() == b"# faster\n"


def test_rejected_candidate_leaves_the_incumbent(made, monkeypatch):
    judge_says(monkeypatch, "rejected", "not_faster", [])
    propose(made, 1, "# slower\n")
    verdict, _ = run(made, 1)
    assert verdict["incumbent"]["version"] == 0
    assert git.Repo(made.workspace).head.commit.tree["kernels/b00.py"].data_stream.read() == b"# baseline\n"


@pytest.mark.parametrize(
    ("outcome", "status", "blocker", "reason", "remembered"),
    [
        ("failed", "planned", None, "agent_failed", "failed"),
        ("pivot", "planned", None, "no_candidate", "failed"),
        ("blocked", "planned", None, "no_candidate", "blocked"),  # its note says by what
        ("blocked", "blocked", "no idea left", "no_candidate", "blocked"),
    ],
)
def test_version_without_a_kernel_is_not_judged(made, monkeypatch, outcome, status, blocker, reason, remembered):
    calls = []
    judge_says(monkeypatch, "accepted", None, calls)
    propose(made, 1, "# left over\n", outcome, status, blocker)
    verdict, memory = run(made, 1)
    assert not calls
    assert (verdict["status"], verdict["reason"], verdict["stage"]) == ("failed", reason, "candidate")
    note = "a note" if outcome == "blocked" else None
    assert memory["outcome"] == remembered and memory["blocker"] == (blocker or note)


def test_same_kernel_is_not_judged_twice(made, monkeypatch):
    calls = []
    judge_says(monkeypatch, "rejected", "wrong_values", calls)
    propose(made, 1, "# wrong\n")
    run(made, 1)
    propose(made, 2, "# wrong\n")
    verdict, _ = run(made, 2)
    assert len(calls) == 1
    assert verdict["reason"] == "wrong_values" and "v001, not judged again" in verdict["sentence"]
    assert verdict["scope"]["version"] == 2 and verdict["kernel"]["path"] == "b00/v002/candidate/kernel.py"


def test_accepted_kernel_cannot_beat_itself(made, monkeypatch):
    calls = []
    judge_says(monkeypatch, "accepted", None, calls)
    propose(made, 1, "# faster\n")
    run(made, 1)
    propose(made, 2, "# faster\n")
    verdict, _ = run(made, 2)
    assert len(calls) == 1 and verdict["reason"] == "not_faster" and verdict["incumbent"]["version"] == 1


@pytest.mark.parametrize("change", ["settings", "specs", "flaky"])
def test_same_kernel_is_judged_again_when_the_old_verdict_does_not_hold(made, monkeypatch, change):
    calls = []
    judge_says(
        monkeypatch,
        "failed" if change == "flaky" else "rejected",
        "crashed" if change == "flaky" else "not_faster",
        calls,
    )
    propose(made, 1, "# slow\n")
    run(made, 1)
    if change == "settings":
        other = copy.deepcopy(CONFIG)
        other["judge"]["samples"] = 60
        (made.results.parent / "config.yaml").write_text(yaml.safe_dump(other))
    if change == "specs":
        specs = copy.deepcopy(SPECS)
        specs["operator"]["summary"] = "edited"
        artifacts.write(made.specs, "specs", specs)
    propose(made, 2, "# slow\n")
    run(made, 2)
    assert len(calls) == 2


def test_version_after_the_stop_is_passed_through(made):
    for version in (1, 2, 3):
        propose(made, version, "# none\n", "failed")
        run(made, version)
    folder = made.version_dir("b00", 4)
    base = made.results.parent
    flags = ["--campaign", made.root, "--bucket", "b00", "--version", 4, "--operator-dir", base / "tiny"]
    flags += ["--config", base / "config.yaml", "--output", folder / "verdict.json", "--memory", folder / "memory.json"]
    assert verify.main([str(flag) for flag in flags]) == 0
    assert artifacts.is_pass_through(folder / "verdict.json") and artifacts.is_pass_through(folder / "memory.json")


def test_real_request_carries_floors_and_settings(made):
    found = judging.request(
        SPECS, CONFIG, made.results, made.baseline / "kernel.py", ["w0"], against=made.specs, seeds=5
    )
    assert found.floors_us == {"w0": 2.0} and found.seeds == 5 and found.peak_bandwidth_gb_s is None
    assert found.workloads == ("w0",) and found.against == str(made.specs.absolute())
