from __future__ import annotations

import json

import pytest
from kernelwright import paths
from kernelwright.errors import InputError, KernelwrightError
from kernelwright.judge import client
from kernelwright.knowledge.wiki import effects, experiments

YAML = {
    "schema_version": 1, "operator": "row_sum", "framework": "cpp", "vendors": ["cpu"], "kernel": "kernel.cpp",
    "change": "does it otherwise",
}  # fmt: skip
ESTIMATE = {"value": 2.0, "low": 1.9, "high": 2.1}
SETTINGS = {"seeds": 1, "samples": 9, "min_improvement": 0.02, "confidence": 0.95}


def made(tmp_path, source='extern "C" void run() { AFTER; }\n', **changes):
    folder = tmp_path / "experiments" / "a-card"
    folder.mkdir(parents=True, exist_ok=True)
    facts = {**YAML, **changes}
    (folder / "experiment.yaml").write_text(json.dumps(facts))
    (folder / facts["kernel"]).write_text(source)
    return experiments.load(tmp_path, "a-card")


def verdict(status="accepted", reason=None, estimate=ESTIMATE):
    latency = {"median_us": 10.0}
    row = {"candidate": {"median_us": 5.0}, "contenders": {"before": latency}, "speedup": {"before": estimate}}
    timing = {"workloads": {"w": row}, "geomean": {"before": estimate}} if estimate else None
    return {
        "status": status, "reason": reason, "sentence": "A sentence.", "timing": timing, "settings": SETTINGS,
        "duration_s": 1.0, "facts": {"device": "a chip", "seeds": [1]},
    }  # fmt: skip


def test_a_cpp_source_becomes_two_kernels_that_differ_by_the_switch(tmp_path):
    pair = experiments.pair(made(tmp_path))
    assert "#define AFTER 0" in pair["before"]
    assert pair["after"] == pair["before"].replace("#define AFTER 0", "#define AFTER 1")
    compile(pair["after"], "after.py", "exec")


def test_flags_alone_may_make_the_difference(tmp_path):
    flags = {"before": ["-O1"], "after": ["-O3"]}
    pair = experiments.pair(made(tmp_path, 'extern "C" void run() {}\n', flags=flags))
    assert "['-O1']" in pair["before"]
    assert "['-O3']" in pair["after"]


def test_a_python_source_is_switched_by_its_line(tmp_path):
    pair = experiments.pair(made(tmp_path, "AFTER = False\nx = 1\n", kernel="kernel.py", framework="triton"))
    assert pair == {"before": "AFTER = False\nx = 1\n", "after": "AFTER = True\nx = 1\n"}


@pytest.mark.parametrize(
    ("source", "changes", "fault"),
    [
        ('extern "C" void run() {}\n', {}, "both kernels are equal"),
        ("x = 1\n", {"kernel": "kernel.py"}, "`AFTER = False` is expected once, found 0 times"),
        ("AFTER", {"wrapper": "no_such"}, "wrapper: 'no_such': no such file; allowed: axpy"),
    ],
)
def test_a_pair_that_cannot_be_made_is_named(tmp_path, source, changes, fault):
    with pytest.raises(InputError, match=fault):
        experiments.pair(made(tmp_path, source, **changes))


def test_a_description_off_its_schema_is_named(tmp_path):
    with pytest.raises(InputError, match=r"experiment\.yaml: framework: \"perl\" is not one of cpp, triton"):
        made(tmp_path, framework="perl")
    assert experiments.load(tmp_path, "another-card") is None


@pytest.mark.parametrize(
    ("claim", "accepted", "effect", "status"),
    [
        ("faster", True, ESTIMATE, "holds"),
        ("faster", False, {"value": 1.0, "low": 0.9, "high": 1.1}, "gone"),
        ("faster", False, None, "broken"),
        ("not_faster", False, {"value": 1.0, "low": 0.9, "high": 1.05}, "holds"),
        ("not_faster", False, {"value": 1.0, "low": 0.5, "high": 1.5}, "gone"),
        ("not_faster", True, ESTIMATE, "gone"),
    ],
)
def test_the_claim_decides_what_holds(claim, accepted, effect, status):
    assert experiments.status_of(claim, accepted, effect) == status


def test_a_result_is_written_read_and_stale_after_an_edit(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(client, "evaluate", lambda request: asked.append(request) or verdict())
    experiment = made(tmp_path)
    assert experiments.state(experiment, "cpu") == ("unmeasured", None)
    experiments.measure(experiment, "cpu", seeds=1, samples=9)
    assert asked[0].against_label == "before"
    state, result = experiments.state(experiment, "cpu")
    assert (state, result["workloads"]["w"]["before_us"], result["device"]) == ("holds", 10.0, "a chip")
    (experiment.folder / "kernel.cpp").write_text("AFTER; // edited\n")
    assert experiments.state(experiment, "cpu")[0] == "stale"
    assert "STALE" in effects.phrase(effects.of_card("a-card", tmp_path))


def test_a_kernel_that_fails_breaks_the_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(client, "evaluate", lambda request: verdict("failed", "compile_error", None))
    assert experiments.measure(made(tmp_path), "cpu", 1, 9)["status"] == "broken"

    def refuse(request):
        raise KernelwrightError("the first kernel does not work")

    monkeypatch.setattr(client, "evaluate", refuse)
    result = experiments.measure(made(tmp_path), "cpu", 1, 9)
    assert (result["status"], result["sentence"]) == ("broken", "the first kernel does not work")


def test_effects_are_told_in_one_line(tmp_path, monkeypatch):
    assert effects.phrase(effects.of_card("a-card", tmp_path)) == "no experiment"
    experiment = made(tmp_path)
    assert effects.phrase(effects.of_card("a-card", tmp_path)) == "experiment prepared, unmeasured"
    monkeypatch.setattr(client, "evaluate", lambda request: verdict("rejected", "not_faster"))
    experiments.measure(experiment, "cpu", 1, 9)
    shown = effects.of_card("a-card", tmp_path)
    assert "2.00x (1.90 to 2.10) on cpu (a chip)" in effects.phrase(shown)
    assert "EFFECT GONE" in effects.phrase(shown)
    assert effects.best(shown) is None


def test_every_experiment_of_the_project_makes_a_pair_and_its_results_are_of_it():
    wiki = paths.wiki_dir()
    known = {path.stem for path in wiki.glob("*/*.md")}
    for experiment in experiments.everyone(wiki):
        assert experiment.card in known
        for text in experiments.pair(experiment).values():
            compile(text, experiment.card, "exec")
        for platform in experiment.platforms_measured():
            state, result = experiments.state(experiment, platform)
            assert state in ("holds", "gone"), f"{experiment.card} on {platform}: {state}"
            assert result["card"] == experiment.card
