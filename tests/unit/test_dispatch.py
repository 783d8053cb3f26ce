"""What the dispatch step ships and why. The judge's answers are given here; what is done with them is the step's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import git
import pytest
from kernelwright import artifacts, dispatch, judging, paths, stop
from kernelwright.config import load
from report.fixture import KERNEL, Builder, estimate

Answer = tuple[str, str | None, dict[str, float]]  # status, reason, contender -> geomean speedup
DEFAULT: tuple[Answer, Answer] = (
    ("accepted", None, {"reference": 1.5, "compiled": 1.1}),
    ("rejected", "not_faster", {"reference": 1.5, "incumbent": 1.0}),
)
REFERENCE = KERNEL.format(tag="reference", block=1)
INPUT = """import torch


def _make_inputs(rows: int, columns: int) -> dict:
    return {"x": torch.rand(rows, columns, dtype=torch.bfloat16), "weight": torch.rand(columns, dtype=torch.bfloat16)}
"""


class Judge:
    """Stands for the judge: `answers` by label (`dispatcher`, `b00_v001`), remembers what it was asked."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.asked: list[Any] = []
        self.texts: list[str] = []

    def __call__(self, request: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        self.asked.append(request)
        self.texts.append(Path(request.candidate).read_text())
        label = Path(request.candidate).parent.name
        status, reason, speedups = self.answers.get(label, DEFAULT[label == "dispatcher"])
        timing = {
            "method": "given",
            "workloads": {},
            "geomean": {name: estimate(value, 0.01) for name, value in speedups.items()},
        }
        scope = {
            "operator": "rms_norm", "platform": "cpu", "framework": "cpp", "mode": "leaderboard",
            "workloads": list(request.workloads), "bucket": None, "version": None,
        }  # fmt: skip
        body = {
            "status": status, "reason": reason, "sentence": f"{label} is {status}.", "stage": None, "scope": scope,
            "kernel": {"path": request.candidate, "sha256": None}, "against": None,
            "isolation": {"level": "none", "missing": []},
            "settings": {"seeds": request.seeds, "samples": request.samples,
                         "min_improvement": request.min_improvement, "confidence": request.confidence},
            "stages": [], "correctness": {"workloads": {}}, "timing": timing if speedups else None,
            "policy": {"own_share": None, "evidence": []}, "incumbent": None, "duration_s": 1.0,
        }  # fmt: skip
        return body, {"seeds": [1, 2], "torch": "2.13.0", "device": "a device"}


Run = Callable[..., tuple[Judge, dict[str, Any], str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the step on a campaign whose buckets have `counts` versions; the fixture's first two plans are accepted."""

    def go(answers: dict[str, Answer], counts: tuple[int, int, int] = (1, 1, 0), **kernels: str) -> Any:
        builder = Builder(tmp_path / "results")
        campaign = builder.campaign
        for step in (builder.specs, builder.signatures, builder.baseline, builder.buckets):
            step()
        for index, count in enumerate(counts):
            builder.bucket(index, count)
        for name, text in kernels.items():
            rewrite(campaign, name, text)
        judge = Judge(answers)
        monkeypatch.setattr(judging, "evaluate", judge)
        config = tmp_path / "config.yaml"
        artifacts.write_text(config, artifacts.json.dumps(load(None, {"platform": "cpu"})))
        flags = ["--campaign", str(campaign.root), "--operator-dir", str(operator(tmp_path))]
        flags += ["--config", str(config), "--output-dir", str(campaign.dispatcher)]
        assert dispatch.main(flags) == 0
        record = artifacts.read(campaign.dispatcher / "provenance.json", "dispatch")
        verdict = artifacts.read(campaign.dispatcher / "verdict.json", "verdict")
        text = (campaign.dispatcher / "kernel.py").read_text()
        sha256 = artifacts.sha256_file(campaign.dispatcher / "kernel.py")
        assert record["decision"]["kernel_sha256"] == verdict["kernel"]["sha256"] == sha256
        assert text in judge.texts  # a verdict of the shipped file itself
        head = git.Repo(campaign.workspace).head.commit
        assert record["workspace_commit"] == head.hexsha
        assert head.tree["kernel.py"].data_stream.read().decode() == text
        return judge, record, text

    return go


def rewrite(campaign: paths.Campaign, bucket: str, text: str) -> None:
    """Give v001 of a bucket another kernel, and tell its memory."""
    kernel = campaign.version_dir(bucket, 1) / "candidate" / "kernel.py"
    kernel.write_text(text)


def operator(folder: Path) -> Path:
    root = folder / "operators" / "rms_norm"
    root.mkdir(parents=True, exist_ok=True)
    (root / "reference.py").write_text(REFERENCE)
    (root / "input.py").write_text(INPUT)
    (root / "shapes.json").write_text('{"w": {"init_kwargs": {}, "input_kwargs": {"rows": 2, "columns": 8}}}')
    return root


def test_a_dispatcher_that_is_slower_in_a_short_race_is_not_judged_in_full(run: Run) -> None:
    _, record, _ = run({"dispatcher": ("rejected", "not_faster", {"reference": 1.8, "incumbent": 0.9})})
    assert (record["decision"]["shipped"], record["decision"]["reason"]) == ("single", "not_faster")
    assert "dispatcher_against_single" not in [row["purpose"] for row in record["comparisons"]]
    assert "0.900 (0.891 to 0.909) times as fast" in record["decision"]["sentence"]


def test_a_faster_dispatcher_is_shipped(run: Run) -> None:
    faster = {"reference": 2.4, "compiled": 1.4, "incumbent": 1.2}
    judge, record, text = run({
        "b00_v001": ("accepted", None, {"reference": 1.9}),
        "b01_v001": ("accepted", None, {"reference": 1.7}),
        "dispatcher": ("accepted", None, faster),
    })  # fmt: skip
    assert (record["decision"]["shipped"], record["decision"]["reason"]) == ("dispatcher", "faster_than_single")
    assert record["decision"]["single"] == "b00_v001"
    assert record["decision"]["gain"]["value"] == 1.2
    purposes = [row["purpose"] for row in record["comparisons"]]
    assert purposes == ["choose_single"] * 2 + ["screen_dispatcher", "dispatcher_against_single"]
    assert [row["kernel"] for row in record["buckets"]] == ["b00_v001", "b01_v001", "v000"]
    assert "class Model_b00_v001(nn.Module):" in text
    assert "class Model_v000(nn.Module):" in text
    quick, last = judge.asked[0], judge.asked[-1]
    assert (quick.seeds, quick.samples, quick.contenders, quick.depth) == (1, 10, ("reference",), "race")
    assert last.depth == "full"
    assert (last.seeds, last.samples, last.contenders) == (5, 30, ("reference", "compiled"))
    assert (last.min_improvement, Path(last.against).parts[-4:-2]) == (0.0, ("b00", "v001"))
    assert len(last.workloads) == 9


def test_no_certain_gain_ships_the_best_single(run: Run) -> None:
    judge, record, text = run({
        "b00_v001": ("accepted", None, {"reference": 1.7}),
        "b01_v001": ("accepted", None, {"reference": 1.9}),
        "dispatcher": ("rejected", "not_faster", {"reference": 1.9, "incumbent": 1.0}),
    })  # fmt: skip
    assert (record["decision"]["shipped"], record["decision"]["reason"]) == ("single", "not_faster")
    assert record["decision"]["single"] == "b01_v001"
    assert "no certain gain" in record["decision"]["sentence"]
    assert text.startswith("# Kernelwright")
    assert "variant b01 v001" in text
    assert judge.asked[-1].contenders == ("reference", "compiled")


def test_a_single_that_is_wrong_elsewhere_is_no_choice(run: Run) -> None:
    wrong = ("rejected", "wrong_values", {})
    _, record, text = run({"b00_v001": wrong, "b01_v001": wrong, "dispatcher": wrong})
    assert (record["decision"]["shipped"], record["decision"]["reason"]) == ("baseline", "dispatcher_rejected")
    assert record["decision"]["single"] == "v000"
    assert "wrong_values" in record["decision"]["sentence"]
    assert "variant baseline" in text


def test_one_incumbent_for_all_needs_no_dispatcher(run: Run) -> None:
    same = KERNEL.format(tag="same", block=5)
    _, record, text = run({}, counts=(1, 1, 0), b00=same, b01=same)
    assert len(record["kernels"]) == 2  # and the baseline of the third bucket
    assert record["kernels"][0]["buckets"] == ["b00", "b01"]
    assert "variant same" in text


def test_nothing_accepted_ships_the_baseline(run: Run) -> None:
    judge, record, text = run({}, counts=(0, 0, 0))
    assert (record["decision"]["shipped"], record["decision"]["reason"]) == ("baseline", "only_baseline")
    assert len(judge.asked) == 1
    assert "variant baseline" in text


def test_sources_that_cannot_be_merged_ship_a_single(run: Run) -> None:
    _, record, _ = run({}, b00=KERNEL.format(tag="x", block=1) + "\nHERE = globals()\n")
    assert (record["decision"]["shipped"], record["decision"]["reason"]) == ("single", "not_mergeable")
    assert "globals()" in record["decision"]["sentence"]


def test_the_walk_of_the_stop_rules_gives_the_incumbents(run: Run, tmp_path: Path) -> None:
    _, record, _ = run({}, counts=(2, 3, 0))
    campaign = Builder(tmp_path / "results").campaign
    policy = load(None)["stop"]
    walked = [stop.walk(campaign, bucket["id"], policy).incumbent["version"] for bucket in record["buckets"]]
    assert [bucket["version"] for bucket in record["buckets"]] == walked == [2, 1, 0]
