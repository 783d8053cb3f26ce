"""Qoder's CLI by streams: one recorded without a login, one made up in the shape that its code shows."""

from __future__ import annotations

from kernelwright.agents.qodercli import Qoder, QoderReader
from kernelwright.agents.sessions.adapter import Launch, Settings
from kernelwright.agents.sessions.record import Tokens

ZERO = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
NOT_LOGGED_IN = [
    {"type": "system", "subtype": "init", "session_id": "q", "model": "auto"},
    {"type": "assistant", "error": "authentication_failed", "session_id": "q",
     "message": {"content": [{"type": "text", "text": "Not logged in"}]}},
    {"type": "result", "subtype": "success", "is_error": True, "total_credits": 0, "usage": ZERO, "result": "stopped"},
]  # fmt: skip


def fed(*events):
    reader = QoderReader()
    for event in events:
        reader.feed(event)
    return reader


def test_without_a_login_the_failure_is_named_and_nothing_is_known_of_tokens():
    reader = fed(*NOT_LOGGED_IN)
    assert (reader.failure.kind, reader.tokens, reader.cost_usd, reader.complete) == ("auth", None, None, False)
    assert reader.session_id == "q" and reader.finished


def test_a_result_of_zeros_is_unknown_and_one_with_figures_is_taken():
    good = {"type": "result", "subtype": "success", "is_error": False, "result": "DONE", "usage": ZERO}
    assert fed(good).tokens is None
    assert fed({**good, "usage": {**ZERO, "input_tokens": 5, "output_tokens": 2}}).tokens == Tokens(5, 0, 0, 2)


def test_arguments(tmp_path):
    argv = Qoder().argv(Launch("do it", "id", Settings(effort="high", settings={"a": 1}), tmp_path))
    assert argv[:4] == ["qodercli", "--print", "--output-format", "stream-json"] and argv[-1] == "do it"
    assert argv[argv.index("--reasoning-effort") + 1] == "high"
    assert argv[argv.index("--settings") + 1] == str(tmp_path / "settings.json")
