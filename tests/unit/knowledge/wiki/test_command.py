from __future__ import annotations

import json

import wiki_files as files
import yaml
from kernelwright.judge import client
from kernelwright.knowledge.wiki.__main__ import main


def settings(tmp_path, wiki):
    path = tmp_path / "settings.yaml"
    path.write_text(yaml.safe_dump({"knowledge": {"wikis": [str(wiki)]}}))
    return ["--config", str(path)]


def test_query_in_words_and_as_json(tmp_path, capsys):
    wiki = tmp_path / "team"
    files.write(wiki, files.facts("quokka-tiles", title="Tiles for the quokka"))
    head = settings(tmp_path, wiki)
    assert main([*head, "query", "quokka", "--platform", "cpu"]) == 0
    assert "1. quokka-tiles" in capsys.readouterr().out
    assert main([*head, "query", "quoka", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["corrections"] == {"quoka": "quokka"}
    assert answer["cards"][0]["attribution"].startswith("private wiki")
    assert main([*head, "query", "zzzz"]) == 1
    assert "nothing matched" in capsys.readouterr().out
    assert main([*head, "query", "quokka", "--platform", "h201"]) == 2
    assert "platform 'h201' is not known" in capsys.readouterr().err


def test_list_show_and_pair_of_the_project(tmp_path, capsys):
    assert main(["list"]) == 0
    assert "cpp-transpose-tiles" in capsys.readouterr().out
    assert main(["show", "cpp-transpose-tiles"]) == 0
    page = capsys.readouterr().out
    assert "## Evidence" in page
    assert "on cpu" in page
    assert main(["pair", "cpp-transpose-tiles", "--output", str(tmp_path / "pair")]) == 0
    assert (tmp_path / "pair" / "after.py").is_file()
    assert main(["show", "cpp-transpose-tile"]) == 2
    assert "did you mean 'cpp-transpose-tiles'" in capsys.readouterr().err


def test_gate_admits_what_passes_into_the_private_wiki(tmp_path, capsys):
    wiki = tmp_path / "team"
    wiki.mkdir()
    good = files.write(tmp_path / "new", files.facts("about-quokkas", title="All about quokkas"))
    bad = files.write(tmp_path / "new", files.facts("bad-card", related=["no-such-card"], title="All about wombats"))
    assert main([*settings(tmp_path, wiki), "gate", str(good), str(bad), "--admit"]) == 1
    assert (wiki / "techniques" / "about-quokkas.md").is_file()
    assert not (wiki / "techniques" / "bad-card.md").exists()
    assert "2 cards checked, 1 kept out" in capsys.readouterr().out


def test_experiments_flag_an_effect_that_is_gone(tmp_path, capsys, monkeypatch):
    import test_experiments

    wiki = tmp_path / "team"
    test_experiments.made(wiki)
    (wiki / "experiments" / "a-card").rename(wiki / "experiments" / "own-card")
    head = [*settings(tmp_path, wiki), "experiments", "--platform", "cpu", "--card", "own-card"]
    monkeypatch.setattr(client, "evaluate", lambda request: test_experiments.verdict())
    assert main(head) == 0
    assert "2.00x" in capsys.readouterr().out
    gone = {"value": 1.0, "low": 0.9, "high": 1.1}
    monkeypatch.setattr(client, "evaluate", lambda request: test_experiments.verdict("rejected", "not_faster", gone))
    assert main(head) == 1
    assert "EFFECT GONE" in capsys.readouterr().out
    assert main([*head[:-1], "no-card"]) == 2
