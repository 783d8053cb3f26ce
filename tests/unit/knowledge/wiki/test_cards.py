from __future__ import annotations

import pytest
import wiki_files as files
from kernelwright.errors import InputError
from kernelwright.knowledge.wiki import cards


def test_a_card_is_read_as_it_was_written(tmp_path):
    head = files.facts("a-card", symptoms=["slow: very"], tags=["x1", "y: z"])
    card = cards.read(files.write(tmp_path, head))
    assert card.facts == head
    assert list(cards.sections(card.body)) == ["Mechanism", "When", "When not", "How"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"colour": "red"}, "unknown key 'colour'; allowed: applies_to"),
        ({"kind": "trick"}, 'kind: "trick" is not one of technique, symptom, pitfall, kernel'),
        ({"bounds": ["cpu"]}, 'bounds.0: "cpu" is not one of compute'),
        ({"applies_to": files.scope(vendors=["any", "cpu"])}, "applies_to.vendors: .*allowed: .any. or a list"),
        ({"id": "other"}, "id: 'other' differs from the file name 'a-card'"),
        ({"sources": []}, "sources"),
    ],
)
def test_what_is_off_is_named_with_what_is_allowed(tmp_path, change, fault):
    text = cards.text_of({**files.facts(), **change}, files.body())
    with pytest.raises(InputError, match=fault):
        cards.parse(text, tmp_path / "a-card.md")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("# no front matter", "must start with `---`"),
        ("---\nid: x\n", "must start with `---`"),
        ("---\nid: [x\n---\nbody", r":\d+: front matter: not valid YAML"),
    ],
)
def test_a_front_matter_that_is_not_closed_is_named(tmp_path, text, fault):
    with pytest.raises(InputError, match=fault):
        cards.parse(text, tmp_path / "a-card.md")


def test_sections_are_those_of_the_kind_and_in_order(tmp_path):
    with pytest.raises(InputError, match="sections: How; allowed: Mechanism, When, When not, How"):
        cards.parse(cards.text_of(files.facts(), "## How\n\ntext"), tmp_path / "a-card.md")
