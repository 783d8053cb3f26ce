"""Replays are readable, bounded and cannot steer the terminal."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from kernelwright import artifacts, replay
from kernelwright.agents.sessions import ledger
from kernelwright.agents.sessions.ledger import Entry, Ledger
from kernelwright.agents.sessions.record import Tokens

spec = importlib.util.spec_from_file_location("campaign_files", Path(__file__).parent / "campaign_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)


def session(campaign, step, events, **facts):
    books = Ledger(ledger.folder(campaign, "b00", 1), step, artifacts.sha256_file(campaign.specs))
    entry = books.start(Entry("claude", step, 1, **{"state": "ended", **facts}))
    books.log(1).write_text("".join(json.dumps(event) + "\n" for event in events) + '{"cut')
    return entry


def test_plan_and_candidate_in_order(tmp_path, capsys):
    campaign = files.campaign(tmp_path)
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "ls \x1b[2J"}}
    gave = {"type": "tool_result", "content": "y" * 3000}
    error = {"kind": "auth", "text": "no key"}
    session(campaign, "candidate", [{"type": "assistant", "message": {"content": [call]}},
                                    {"type": "user", "message": {"content": [gave]}}],
            tokens=Tokens(1234, 0, 0, 56), turns=2, error=error, complete=False)  # fmt: skip
    session(campaign, "plan", [{"event": "prompt", "text": "do it"}, {"type": "result", "result": "DONE"}])
    assert replay.main([str(campaign.version_dir("b00", 1))]) == 0
    said = capsys.readouterr().out
    assert said.index("== plan 1: claude") < said.index("prompt:\ndo it") < said.index("result: DONE")
    assert "2 turns, 0 s, 1,234 tokens in, 56 out at least; auth: no key" in said
    assert "> Bash ls ?[2J" in said and "[1002 more characters]" in said
    assert replay.main([str(campaign.version_dir("b00", 1)), "--full"]) == 0
    assert "y" * 3000 in capsys.readouterr().out


def test_a_folder_without_sessions_is_named(tmp_path, capsys):
    assert replay.main([str(tmp_path)]) == 2
    assert "no sessions there" in capsys.readouterr().err
