from __future__ import annotations

from types import SimpleNamespace

import pytest
import wiki_files as files
from kernelwright.errors import InputError
from kernelwright.knowledge.wiki import sources


def plugin(gives):
    def load():
        return gives

    return [SimpleNamespace(name="team", value="team.wiki:source", load=load)]


def test_the_built_in_wiki_is_first_and_private_folders_follow(tmp_path):
    found = sources.everything({"knowledge": {"wikis": [str(tmp_path)]}})
    assert found[0].name == "kernelwright"
    assert found[-1].directory == tmp_path.resolve()


def test_a_plugin_adds_a_source_with_its_attribution(tmp_path, monkeypatch):
    team = sources.Source("team", "The team, CC-BY", tmp_path)
    monkeypatch.setattr(sources, "entry_points", lambda group: plugin(lambda: team))
    assert sources.everything()[-1] == team


@pytest.mark.parametrize(
    ("gives", "fault"), [(lambda: 3, "gave int, not Source"), (lambda: 1 / 0, "ZeroDivisionError")]
)
def test_a_plugin_that_does_not_give_a_source_is_named(monkeypatch, gives, fault):
    monkeypatch.setattr(sources, "entry_points", lambda group: plugin(gives))
    with pytest.raises(InputError, match=f"knowledge plugin 'team'.*{fault}"):
        sources.everything()


def test_a_missing_private_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"knowledge\.wikis: .*nowhere: no such folder"):
        sources.everything({"knowledge": {"wikis": [str(tmp_path / "nowhere")]}})


def test_two_sources_of_one_name_are_refused(tmp_path):
    for name in ("a", "b"):
        files.write(tmp_path / name / "wiki", files.facts())
    with pytest.raises(InputError, match="two are named 'wiki'"):
        sources.everything({"knowledge": {"wikis": [str(tmp_path / "a/wiki"), str(tmp_path / "b/wiki")]}})
