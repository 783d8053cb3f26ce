"""Kinds of failure by status and words, tokens in one currency, secrets kept out of what is written."""

from __future__ import annotations

import pytest
from kernelwright.agents.sessions import secrets
from kernelwright.agents.sessions.record import Tokens, failure


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("x", 500, "server"), ("x", 529, "server"), ("x", 429, "rate_limit"), ("x", 401, "auth"), ("x", 403, "auth"),
        ("prompt is too long: 9 tokens", 400, "context_overflow"), ("bad field", 400, "request"), ("x", 413, "context_overflow"),
        ("You exceeded your quota: insufficient_quota", 429, "quota"), ("Overloaded", None, "server"),
        ("fetch failed", None, "network"), ("getaddrinfo ENOTFOUND host", None, "network"),
        ("ModuleNotFoundError: No module named 'x'", None, "unknown"), ("Please run /login", None, "auth"),
        ("something else", None, "unknown"),
    ],
)  # fmt: skip
def test_kinds(text, status, kind):
    assert failure(text, status).kind == kind


def test_a_message_becomes_one_short_line():
    assert failure("two\n  lines " + "x" * 999).text.startswith("two lines x")
    assert len(failure("x" * 999).text) == 400


def test_tokens_add_and_go_through_json():
    tokens = Tokens(420, 300, 20, 40, 10)
    assert (tokens + tokens - tokens, tokens.total) == (tokens, 460)
    assert Tokens.from_json(tokens.to_json()) == tokens


def test_secrets_are_replaced_by_the_names_of_their_variables():
    hide = secrets.redactor({"API_KEY": "abcdefgh", "MODEL": "abcdefgh-1"}, {"GH_TOKEN": "abcdefgh-long"})
    assert hide("key abcdefgh, token abcdefgh-long") == "key [redacted API_KEY], token [redacted GH_TOKEN]"
    assert secrets.redactor({"KEY_FILE": "/home/me/key", "PASSWORD": "ab"})("/home/me/key ab") == "/home/me/key ab"
