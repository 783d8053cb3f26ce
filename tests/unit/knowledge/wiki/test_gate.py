from __future__ import annotations

import pytest
import wiki_files as files
from kernelwright import artifacts
from kernelwright.knowledge.wiki import cards, gate

HOPPER = files.scope(vendors=["nvidia"], architectures=["hopper"], frameworks=["triton"])


def card_of(folder, head, text="Some words."):
    return cards.read(files.write(folder, head, text))


def checks(findings):
    return [finding.check for finding in findings]


def test_a_sound_card_passes(tmp_path):
    assert gate.check(card_of(tmp_path, files.facts(applies_to=HOPPER)), []) == []


def test_a_card_off_its_schema_is_no_card(tmp_path):
    path = files.write(tmp_path, files.facts())
    path.write_text(path.read_text().replace("kind: technique", "kind: trick"))
    card, findings = gate.check_file(path, [])
    assert card is None
    assert checks(findings) == ["schema"]


@pytest.mark.parametrize(
    ("scope", "sentence"),
    [
        (files.scope(vendors=["amd"], architectures=["hopper"]), "architecture hopper is of nvidia, the card of amd"),
        (files.scope(vendors=["nvidia"], frameworks=["cpp"]), "framework cpp is of cpu, the card of nvidia"),
        (files.scope(frameworks=["triton"]), "framework triton is of nvidia, amd, the card of any"),
    ],
)
def test_a_scope_that_cannot_be_is_kept_out(tmp_path, scope, sentence):
    findings = gate.check(card_of(tmp_path, files.facts(applies_to=scope)), [])
    assert [(one.check, one.sentence) for one in findings] == [("scope", sentence)]


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        (files.facts(related=["no-such-card"]), "related: 'no-such-card' is no card"),
        (files.facts(sources=[{"title": "hearsay"}]), "source 'hearsay' has no url"),
        (files.campaign_facts(sources=[{"title": "nothing"}]), "names no artifact with its sha256"),
        (files.campaign_facts(speedup={"value": 1.1, "low": 0.9, "high": 1.2}), "without a speedup above 1"),
        (files.campaign_facts(speedup=None), "without a speedup above 1"),
        (files.campaign_facts(outcome="rejected", kind="technique"), "outcome rejected does not make a technique"),
    ],
)
def test_a_card_whose_origin_cannot_be_read_up_is_kept_out(tmp_path, head, sentence):
    findings = gate.check(card_of(tmp_path, head), [])
    assert {one.check for one in findings} == {"provenance"}
    assert any(sentence in one.sentence for one in findings)


def test_artifacts_of_a_campaign_must_be_there_unchanged(tmp_path):
    path = tmp_path / "results/op/cpu/cpp-leaderboard/b00/v001/verdict.json"
    artifacts.write_text(path, "{}")
    source = {"title": "op/cpu/cpp-leaderboard/b00/v001/verdict.json", "sha256": artifacts.sha256_file(path)}
    card = card_of(tmp_path, files.campaign_facts(sources=[source]))
    assert gate.check(card, [], tmp_path / "results") == []
    path.write_text("{ }")
    assert "not the artifact" in gate.check(card, [], tmp_path / "results")[0].sentence
    path.unlink()
    assert "no such artifact" in gate.check(card, [], tmp_path / "results")[0].sentence


def test_duplicates_are_kept_out(tmp_path):
    known = card_of(
        tmp_path / "wiki", files.facts("known", title="One title of a card"), "words about tiles and caches"
    )
    again = card_of(tmp_path / "new", files.facts("known", title="Another title of it"), "nothing in common whatsoever")
    assert "id known is taken" in gate.check(again, [known])[0].sentence
    titled = card_of(tmp_path / "new", files.facts("other", title="One Title of a card"), "nothing alike whatsoever")
    assert "the title is that of known" in gate.check(titled, [known])[0].sentence
    said = card_of(tmp_path / "new", files.facts("third", title="One title of cards"), "words about tiles and caches")
    assert "says what known says" in gate.check(said, [known])[0].sentence
    elsewhere = files.facts("fourth", title="One title of cards", applies_to=HOPPER)
    cpu = card_of(
        tmp_path / "w", files.facts("cpu", title="One title of a card", applies_to=files.scope(vendors=["cpu"]))
    )
    assert gate.check(card_of(tmp_path / "new", elsewhere), [cpu]) == []


def test_evidence_against_admitted_evidence_is_a_conflict(tmp_path):
    known = card_of(tmp_path / "wiki", files.campaign_facts("known", title="It was faster here"), "one two three")
    loss = {"value": 0.8, "low": 0.7, "high": 0.9}
    against = files.campaign_facts("against", loss, outcome="rejected", title="It was slower there")
    findings = gate.check(card_of(tmp_path / "new", against, "quite other words"), [known])
    assert checks(findings) == ["conflict"]
    assert "0.80x here, 1.50x in known" in findings[0].sentence
    other = {**against, "tags": ["template", "rotary"]}
    assert gate.check(card_of(tmp_path / "new", other, "quite other words"), [known]) == []


def test_an_admitted_card_lies_in_the_folder_of_its_kind(tmp_path):
    card = card_of(tmp_path / "new", files.facts("a-pitfall", "pitfall"))
    target = gate.admit(card, tmp_path / "wiki")
    assert target == tmp_path / "wiki" / "pitfalls" / "a-pitfall.md"
    assert cards.read(target).facts == card.facts
