from __future__ import annotations

import os

import pytest
import wiki_files as files
from kernelwright.errors import InputError
from kernelwright.knowledge.wiki import index, query
from kernelwright.knowledge.wiki.sources import Source


@pytest.fixture
def wiki(tmp_path):
    files.write(tmp_path, files.facts("tiles", title="Copy a transpose tile by tile", symptoms=["strided stores"]))
    gpu = files.scope(vendors=["nvidia"], architectures=["hopper"], frameworks=["triton"], families=["matmul"])
    files.write(
        tmp_path, files.facts("tma", applies_to=gpu, bounds=["latency"], tags=["transpose"]), "Descriptor loads."
    )
    files.write(
        tmp_path, files.facts("wait", "symptom", bounds=["sync"]), "Threads wait at barriers for vectorised loads."
    )
    return tmp_path


def opened(folder):
    made = index.Index(":memory:", [Source("test", "by a test", folder)])
    made.refresh()
    return made


def ids(answer):
    return [card["id"] for card in answer["cards"]]


def test_scope_filters_before_ranking(wiki):
    ix = opened(wiki)
    assert ids(query.search(ix, "transpose", query.Scope())) == ["tiles", "tma"]
    assert ids(query.search(ix, "transpose", query.scope_of("cpu", framework="cpp"))) == ["tiles"]
    assert ids(query.search(ix, "transpose", query.scope_of("h200", framework="triton"))) == ["tiles", "tma"]
    assert ids(query.search(ix, "transpose", query.scope_of("a100", framework="triton"))) == ["tiles"]
    assert ids(query.search(ix, "transpose", query.Scope(family="matmul", bound="latency"))) == ["tma"]
    assert ids(query.search(ix, "barriers", query.Scope(kind="symptom"))) == ["wait"]


def test_symptoms_are_a_filter_of_their_own(wiki):
    ix = opened(wiki)
    assert ids(query.search(ix, "", query.Scope(symptom="strided store"))) == ["tiles"]
    assert ids(query.search(ix, "", query.Scope(symptom="descriptor"))) == []


def test_a_misspelt_word_is_read_as_its_neighbour_and_said_to_be(wiki):
    answer = query.search(opened(wiki), "trnaspose tils", query.Scope())
    assert answer["corrections"] == {"trnaspose": "transpose", "tils": "tiles"}
    assert "tiles" in ids(answer)


def test_inflected_words_are_the_same_word(wiki):
    assert ids(query.search(opened(wiki), "transposed tiles", query.Scope()))[0] == "tiles"


@pytest.mark.parametrize(
    ("text", "scope", "status"),
    [
        ("quokka", query.Scope(), "nothing_matched"),
        ("barriers", query.Scope(kind="pitfall"), "nothing_in_scope"),
        ("", query.Scope(kind="pitfall"), "nothing_in_scope"),
        ("transpose quokka", query.Scope(), "matched"),
    ],
)
def test_an_answer_says_why_nothing_is_found(wiki, text, scope, status):
    answer = query.search(opened(wiki), text, scope)
    assert answer["status"] == status
    assert ("quokka" in answer["note"]) is ("quokka" in text)


def test_a_filter_that_no_card_may_use_is_named(wiki):
    with pytest.raises(InputError, match="bounds: 'speed' is not one of compute, memory"):
        query.search(opened(wiki), "transpose", query.Scope(bound="speed"))


@pytest.mark.parametrize("text", ['"', "a* OR (", "NEAR(x y)", "title:tiles", "日本"])
def test_no_text_is_a_query_language(wiki, text):
    assert query.search(opened(wiki), text, query.Scope())["status"] in (
        "matched",
        "nothing_matched",
        "nothing_in_scope",
    )


def test_changed_new_and_deleted_cards_are_noticed(wiki, monkeypatch):
    monkeypatch.setattr(index, "CHECK_EVERY_S", 0.0)
    ix = opened(wiki)
    path = files.write(wiki, files.facts("tiles", title="About quokkas and nothing else"))
    os.utime(path, ns=(1, 1))
    assert ix.refresh() == 1
    assert ids(query.search(ix, "quokka", query.Scope())) == ["tiles"]
    path.unlink()
    ix.refresh()
    assert ids(query.search(ix, "quokka", query.Scope())) == []
    assert ix.refresh() == 0


def test_files_are_not_looked_at_again_at_once_unless_a_folder_changed(wiki):
    ix = opened(wiki)
    files.write(wiki, files.facts("fresh", title="About quokkas and nothing else"))
    assert ix.refresh() == 1
    assert ix.refresh() == 0


def test_two_cards_with_one_id_are_refused(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    files.write(one, files.facts("same"))
    files.write(two, files.facts("same"))
    made = index.Index(":memory:", [Source("one", "", one), Source("two", "", two)])
    with pytest.raises(InputError, match="id: 'same' is taken by"):
        made.refresh()


def test_a_bad_card_leaves_the_index_as_it_was(wiki):
    ix = opened(wiki)
    (wiki / "techniques" / "bad.md").write_text("nothing")
    with pytest.raises(InputError, match=r"bad\.md: front matter"):
        ix.refresh()
    assert ids(query.search(ix, "barriers", query.Scope())) == ["wait"]


def test_the_index_is_kept_in_the_cache(wiki, tmp_path):
    source = [Source("test", "by a test", wiki)]
    index.opened(source).close()
    assert index.file_of(source).is_file()
    again = index.opened(source)
    assert again.db.execute("SELECT count(*) FROM cards").fetchone() == (3,)
    index.file_of(source).write_text("no database at all, only text that is long enough")
    with pytest.raises(InputError, match="not a usable index"):
        index.opened(source)
