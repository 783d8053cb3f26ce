from __future__ import annotations

import pytest
import wiki_files as files
from kernelwright.errors import InputError
from kernelwright.knowledge.wiki import cite, index, query, sources

SPECS = {"platform": {"name": "cpu"}, "framework": "cpp"}


def profile(bound):
    return {"bottlenecks": [{"bound": bound, "note": "idle cores"}] if bound else []}


@pytest.fixture
def config(tmp_path, monkeypatch):
    wiki = tmp_path / "wiki"
    files.write(wiki, files.facts("threads", bounds=["occupancy"], title="Use all cores of the machine"))
    files.write(wiki, files.facts("idle", "symptom", bounds=["occupancy"], title="Some idle cores were seen"))
    files.write(wiki, files.facts("traffic", bounds=["memory"], title="Read each of the inputs once"))
    monkeypatch.setattr(sources, "everything", lambda config=None: [sources.Source("test", "by a test", wiki)])
    return {}


def test_cards_of_the_top_bottleneck_are_cited_and_symptoms_are_not(config):
    found = cite.for_plan(SPECS, profile("occupancy"), "row_norm", "parallel threads", config)
    assert [card["id"] for card in found] == ["threads"]
    assert found[0]["effect"] == "no experiment"
    assert cite.for_plan(SPECS, profile("tail"), "row_norm", "threads", config) == []


def test_cited_cards_must_exist(config):
    assert set(cite.files(["threads"], config)) == {"threads"}
    assert cite.files([], config) == {}
    with pytest.raises(InputError, match="'thread' is no card; did you mean 'threads'"):
        cite.files(["thread"], config)


def test_recall_over_the_known_questions(tmp_path):
    from kernelwright import artifacts, paths

    questions = artifacts.load_yaml(paths.project_root() / "benchmarks" / "wiki_questions.yaml")
    opened = index.Index(":memory:", [sources.builtin()])
    opened.refresh()
    known = {row[0] for row in opened.db.execute("SELECT id FROM cards")}
    hits = 0
    for item in questions:
        assert set(item["cards"]) <= known
        scope = query.scope_of(item["platform"], framework=item["framework"])
        found = {card["id"] for card in query.search(opened, item["q"], scope, 5)["cards"]}
        hits += bool(found & set(item["cards"]))
    assert len(questions) >= 50
    assert hits / len(questions) >= 0.9
