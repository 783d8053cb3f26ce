"""The way to the tools: socket, command and MCP say the same."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from kernelwright import config
from kernelwright.agents.tools import client, mcp, server, wiki


class Box:
    """Tools that answer with their request."""

    def __init__(self):
        import threading

        self.lock = threading.Lock()

    def call(self, verb, arguments):
        if verb == "status":
            return {"error": "refused"}
        return {"verb": verb, "arguments": arguments, "status": "accepted" if verb == "judge" else "rejected"}


@pytest.fixture
def socket(tmp_path, monkeypatch):
    with server.serving(Box(), tmp_path / "t.sock") as path:
        monkeypatch.setenv(client.SOCKET_VARIABLE, str(path))
        yield str(path)


@pytest.mark.parametrize(
    ("words", "code", "arguments"),
    [
        (["judge", "a.py", "--depth", "quick"], 0, {"file": "a.py", "depth": "quick"}),
        (["compile"], 1, {}),
        (["wiki", "two", "words"], 0, {"query": "two words"}),
    ],
)
def test_the_command(socket, capsys, words, code, arguments):
    assert client.main(words) == code
    assert json.loads(capsys.readouterr().out)["arguments"] == arguments


def test_a_refusal_and_no_session(socket, capsys, monkeypatch):
    assert client.main(["status"]) == 2
    monkeypatch.setenv(client.SOCKET_VARIABLE, "/no/such.sock")
    assert client.main(["judge"]) == 2
    monkeypatch.delenv(client.SOCKET_VARIABLE)
    assert client.main(["judge"]) == 2
    assert "this is no agent session" in capsys.readouterr().err


def test_the_command_needs_nothing_of_the_package(socket):
    command = [sys.executable, "-I", str(Path(client.__file__)), "tool", "judge", "a.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={client.SOCKET_VARIABLE: socket})
    assert done.returncode == 0 and json.loads(done.stdout)["verb"] == "judge"


@pytest.mark.parametrize(
    "line", [b"x\n", b"[]\n", b'{"verb": 1}\n', b'{"verb": "judge", "arguments": {"file": 1}}\n', b""]
)
def test_a_malformed_request_is_answered(line):
    assert "error" in server.answer(Box(), line)


def test_mcp_lists_and_calls_the_tools(socket):
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "judge", "arguments": {"file": "a.py"}}},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "status"}},
        {"jsonrpc": "2.0", "id": 5, "method": "resources/list"},
    ]
    sink = io.StringIO()
    mcp.serve(io.StringIO("".join(json.dumps(one) + "\n" for one in asked) + "broken\n"), sink, socket)
    answers = {answer["id"]: answer for answer in map(json.loads, sink.getvalue().splitlines())}
    assert set(answers) == {1, 2, 3, 4, 5}
    assert answers[1]["result"]["protocolVersion"] == "2024-11-05"
    assert [tool["name"] for tool in answers[2]["result"]["tools"]][:2] == ["judge", "compile"]
    assert json.loads(answers[3]["result"]["content"][0]["text"])["arguments"] == {"file": "a.py"}
    assert (answers[3]["result"]["isError"], answers[4]["result"]["isError"]) == (False, True)
    assert answers[5]["error"]["code"] == -32601


def test_wiki_cards_are_found_by_words_in_scope_and_by_id():
    settings = config.load()
    specs = {"platform": {"name": "cpu"}, "framework": "cpp"}
    found = wiki.look_up("vectorized loads", settings, specs)
    assert 0 < len(found["cards"]) <= wiki.MOST_CARDS < found["known"]
    card = found["cards"][0]
    assert f"id: {card['id']}" in wiki.look_up(card["id"], settings, specs)["text"]
    assert wiki.look_up("qwertyuiop", settings, specs)["cards"] == []
