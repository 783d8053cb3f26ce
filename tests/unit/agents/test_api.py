"""The api agent: events of its loop, and the loop itself with a model of fixed answers."""

from __future__ import annotations

import json

import pytest
from kernelwright.agents.api import Api, ApiReader
from kernelwright.agents.sessions.adapter import Launch, Settings
from kernelwright.agents.sessions.record import Tokens
from kernelwright.agents.tools import model_loop
from kernelwright.errors import InputError


def fed(*events):
    reader = ApiReader()
    for event in events:
        reader.feed(event)
    return reader


def test_tokens_are_summed_and_a_server_that_does_not_count_is_told():
    answer = {"type": "answer", "text": "hm", "tokens": [400, 300, 0, 40, 10]}
    reader = fed({"type": "session", "id": "s", "model": "m"}, answer, answer, {"type": "end"})
    assert (reader.tokens, reader.turns, reader.finished) == (Tokens(800, 600, 0, 80, 20), 2, True)
    assert not fed({**answer, "tokens": None}).complete


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"status": 500, "text": "x"}, "server"),
        ({"status": None, "text": "APIConnectionError: Connection error."}, "network"),
        ({"status": None, "text": "No module named 'openai'", "missing": True}, "not_installed"),
    ],
)
def test_errors_by_kind(facts, kind):
    assert fed({"type": "error", **facts}).failure.kind == kind


@pytest.mark.parametrize(
    ("settings", "words"), [(Settings(), "model: null"), (Settings(model="m", provider="x"), "'x'")]
)
def test_settings_that_cannot_work_are_named(tmp_path, settings, words):
    with pytest.raises(InputError, match=words):
        Api().argv(Launch("do it", "id", settings, tmp_path))


class Model:
    """Answers one after the other; keeps what the tools gave."""

    def __init__(self, *answers):
        self.answers, self.given = list(answers), []

    def prompt(self, text):
        self.text = text

    def answer(self):
        return self.answers.pop(0)

    def results(self, found):
        self.given += [text for _, text in found]


def test_the_loop_uses_tools_until_none_is_called(tmp_path):
    calls = [
        ("1", "write_file", json.dumps({"path": "a/b.txt", "content": "one"})),
        ("2", "read_file", json.dumps({"path": "a/b.txt"})),
        ("3", "replace", json.dumps({"path": "a/b.txt", "old": "one", "new": "two"})),
        ("4", "list_files", ""),
        ("5", "read_file", json.dumps({"path": "../secret"})),
        ("6", "read_file", "not json"),
        ("7", "launch", "{}"),
    ]
    said = []
    model = Model(("working", calls, [1, 0, 0, 1, 0]), ("done", [], None))
    model_loop.loop(model, "do it", tmp_path, lambda kind, **facts: said.append(kind))
    assert model.text == "do it" and (tmp_path / "a" / "b.txt").read_text() == "two"
    assert model.given[:4] == ["written", "one", "replaced", "a/b.txt"]
    assert "outside of the folder" in model.given[4] and "no JSON object" in model.given[5]
    assert model.given[6] == "error: there is no tool 'launch'"
    assert said == ["answer", *["tool"] * 6, "answer", "end"]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").write_text("expected")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "secret")
    assert "outside" in model_loop.use("read_file", {"path": "link"}, tmp_path / "root")
