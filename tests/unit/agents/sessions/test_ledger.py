"""Records of sessions: what a step spent, what a killed supervisor left, what counts against the campaign's budget."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
from kernelwright import artifacts
from kernelwright.agents.sessions import ledger
from kernelwright.agents.sessions.ledger import Entry, Ledger
from kernelwright.agents.sessions.record import Tokens
from kernelwright.errors import InputError

spec = importlib.util.spec_from_file_location("campaign_files", Path(__file__).parents[2] / "campaign_files.py")
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)

ONE = Entry("claude", "plan", 1, state="ended", tokens=Tokens(100, 30, 0, 10, 2), cost_usd=0.5, turns=2)


def books(campaign, version=1, step="plan"):
    return Ledger(ledger.folder(campaign, "b00", version), step, artifacts.sha256_file(campaign.specs))


def test_records_go_through_their_files_and_numbers_are_not_reused(tmp_path):
    campaign = files.campaign(tmp_path)
    made = books(campaign)
    assert made.next_number() == 1
    entry = made.start(ONE)
    assert made.entries() == [entry] and entry.started_at
    artifacts.write_text(campaign.specs, '{"other": 1}')
    changed = books(campaign)
    assert changed.entries() == [] and changed.next_number() == 2


def test_usage_is_the_sum_and_unknown_as_soon_as_one_is(tmp_path):
    usage = ledger.usage([ONE, ONE], 3.0, 1)
    assert usage == {"input_tokens": 200, "cached_input_tokens": 60, "output_tokens": 20, "reasoning_tokens": 4,
                     "cost_usd": 1.0, "turns": 4, "wall_s": 3.0, "trials": 1, "sessions": 2, "complete": True}  # fmt: skip
    unknown = ledger.usage([ONE, replace(ONE, tokens=None, cost_usd=None)], 3.0, 1)
    assert unknown["input_tokens"] is None and unknown["cost_usd"] is None and not unknown["complete"]
    assert not ledger.usage([replace(ONE, complete=False)], 1.0, 0)["complete"]
    assert ledger.usage([], 1.0, 0)["input_tokens"] == 0


def test_the_live_view_is_written_once_a_second_and_a_wrong_record_is_refused(tmp_path):
    made = books(files.campaign(tmp_path))
    made.start(ONE)
    made.write(replace(ONE, turns=9), always=False)
    assert made.entries()[0].turns == 2
    made.write(replace(ONE, turns=9))
    assert made.entries()[0].turns == 9
    with pytest.raises(InputError, match="state"):
        made.write(replace(ONE, state="asleep"))


def test_sessions_count_until_their_version_has_a_memory(tmp_path):
    campaign = files.campaign(tmp_path)
    for version in (1, 2):
        books(campaign, version).start(ONE)
    own = books(campaign, 2, "candidate")
    own.start(replace(ONE, step="candidate", tokens=Tokens(1000)))
    assert ledger.open_tokens(campaign) == 110 + 110 + 1000
    assert ledger.open_tokens(campaign, but=own.path(1)) == 220
    files.add_version(campaign, 1)
    assert ledger.open_tokens(campaign, but=own.path(1)) == 110
