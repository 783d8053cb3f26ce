"""A user's settings of a CLI, and the environment that reaches it."""

from __future__ import annotations

import json

import pytest
from kernelwright.agents.claude import Claude
from kernelwright.agents.sessions.adapter import Launch, Settings, settings_of
from kernelwright.errors import InputError

OWN, GENERIC = "KERNELWRIGHT_CLAUDE_SESSION_SETTINGS", "KERNELWRIGHT_SESSION_SETTINGS"


def test_own_settings_come_before_generic_ones_and_both_before_the_config():
    config = {"model": "c", "effort": "low"}
    assert settings_of("claude", {}, config).model == "c"
    assert settings_of("claude", {GENERIC: '{"model": "g"}'}, config) == Settings(model="g", effort="low")
    both = {GENERIC: '{"model": "g"}', OWN: '{"model": "o"}'}
    assert settings_of("claude", both, config).model == "o"
    assert settings_of("codex", both, config).model == "g"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{secret", "not valid JSON"), ('["secret"]', "no object"), ('{"modell": "secret"}', "modell: not allowed"),
        ('{"args": "secret"}', "args: a JSON array"), ('{"env": ["secret"]}', "env: a JSON object"),
        ('{"args": ["--api-key", "secret"]}', "args: --api-key"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named_without_their_values(text, words):
    with pytest.raises(InputError, match=words) as caught:
        settings_of("claude", {OWN: text}, {})
    assert OWN in str(caught.value) and "secret" not in str(caught.value)


def test_only_what_the_cli_needs_reaches_it(tmp_path):
    current = {"PATH": "/bin", "HOME": "/me", "ANTHROPIC_API_KEY": "k", "GITHUB_TOKEN": "t",
               "KERNELWRIGHT_JUDGE_SOCKET": "/judge.sock", OWN: json.dumps({"env": {"A": "secret"}})}  # fmt: skip
    launch = Launch("", "", Settings(env={"HOME": "/other", "EXTRA": "1"}), tmp_path)
    found = Claude().environment(launch, current)
    assert {key: found[key] for key in ("PATH", "HOME", "ANTHROPIC_API_KEY", "EXTRA")} == {
        "PATH": "/bin", "HOME": "/other", "ANTHROPIC_API_KEY": "k", "EXTRA": "1",
    }  # fmt: skip
    assert not {"GITHUB_TOKEN", "KERNELWRIGHT_JUDGE_SOCKET", OWN} & set(found)


def test_a_cli_that_is_not_there_has_no_version():
    assert Claude().version({"PATH": "/nowhere"}) is None
    assert Claude().login({"PATH": "/nowhere"}) == (None, "not installed")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo '{\"loggedIn\": false}'; exit 1", (False, "not logged in")),
        ("echo 'Account: Not logged in'", (False, "not logged in")),
        ("echo 'Logged in as me'", (True, "Logged in as me")),
    ],
)
def test_the_login_is_what_the_cli_says(tmp_path, script, expected):
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    assert Claude().login({"PATH": f"{tmp_path}:/usr/bin:/bin"}) == expected
