from __future__ import annotations

import json

import campaign_files
import pytest
import wiki_files as files
from kernelwright import artifacts, paths
from kernelwright.knowledge.wiki import cards, effects, gate, harvest

SPECS = {
    "operator": {"name": "tiny", "layout": "native", "family": "row_norm", "summary": "x", "directory_digest": "0" * 64,
                 "inputs": {}, "outputs": {}, "mutates": [], "tolerance": {}, "deterministic": True},
    "platform": {"name": "cpu", "vendor": "cpu", "device": "a chip", "facts": {}},
    "framework": "cpp", "mode": "leaderboard", "workloads": {}, "targets": {"utilization": None},
}  # fmt: skip
RECIPE = {"source": "template", "template": "row_norm"}


@pytest.fixture
def campaign(tmp_path):
    made = campaign_files.campaign(tmp_path)
    artifacts.write(made.specs, "specs", SPECS)
    return made


def judged(campaign, version, outcome, speedup=None, **facts):
    evidence = [{"metric": "share_of_floor", "value": 0.5, "unit": "ratio"}]
    campaign_files.add_version(campaign, version, outcome, evidence=evidence, recipe=RECIPE, speedup=speedup, **facts)
    folder = campaign.version_dir("b00", version)
    timing = (
        {"geomean": {"incumbent": {"value": speedup, "low": speedup - 0.1, "high": speedup + 0.1}}} if speedup else None
    )
    artifacts.write_text(folder / "verdict.json", json.dumps({"timing": timing, "sentence": "A sentence."}))
    artifacts.write_text(folder / "profile.json", json.dumps({"bottlenecks": [{"bound": "memory"}]}))
    artifacts.write_text(folder / "plan.json", json.dumps({"wiki": facts.get("wiki", [])}))


def test_an_accepted_version_gives_a_technique_that_passes_the_gate(campaign):
    judged(campaign, 1, "accepted", 1.5)
    (path,) = harvest.harvest(campaign)
    card, findings = gate.check_file(path, [], campaign.results)
    assert findings == []
    assert card.kind == "technique"
    assert card.facts["applies_to"]["families"] == ["row_norm"]
    assert card.facts["origin"]["speedup"]["low"] == pytest.approx(1.4)
    assert card.facts["bounds"] == ["memory"]
    assert "share_of_floor: 0.5 ratio" in card.body


def test_a_failure_becomes_a_pitfall_and_of_one_subject_the_best_remains(campaign):
    judged(campaign, 1, "rejected", 0.8)
    judged(campaign, 2, "rejected", 0.9)
    judged(campaign, 3, "failed")
    judged(campaign, 4, "blocked", blocker="nothing left")
    (path,) = harvest.harvest(campaign)
    card = cards.read(path)
    assert (card.kind, card.facts["origin"]["version"]) == ("pitfall", 2)
    assert gate.check(card, [], campaign.results) == []


def test_harvesting_again_changes_nothing(campaign):
    judged(campaign, 1, "accepted", 1.5)
    (path,) = harvest.harvest(campaign)
    before = path.stat().st_mtime_ns
    assert harvest.harvest(campaign) == [path]
    assert path.stat().st_mtime_ns == before


def test_use_of_cards_in_plans_is_counted(campaign):
    judged(campaign, 1, "accepted", 2.0, wiki=["a-card"])
    judged(campaign, 2, "accepted", 8.0, wiki=["a-card", "b-card"])
    judged(campaign, 3, "rejected", 0.9, wiki=["a-card"])
    judged(campaign, 4, "blocked", wiki=["a-card"])
    used = effects.usage(campaign.results)
    assert (used["a-card"]["planned"], used["a-card"]["judged"], used["a-card"]["accepted"]) == (4, 3, 2)
    assert used["a-card"]["gain"] == pytest.approx(4.0)
    assert used["b-card"]["planned"] == 1


@pytest.mark.parametrize("word", ["3d", "x" * 90, "ünï code!"])
def test_ids_are_ids_whatever_the_words(word):
    facts = files.facts(harvest.slug("pitf", word))
    artifacts.validate(facts, "card", "test")


def test_the_wiki_of_the_project_passes_its_own_gate():
    admitted = [cards.read(path) for path in sorted(paths.wiki_dir().glob("*/*.md")) if path.name != "README.md"]
    assert len(admitted) >= 60
    assert [finding.sentence for card in admitted for finding in gate.check(card, admitted)] == []
