"""What a session is known to have spent and why it failed, in the same terms for every CLI."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# Kinds of failure. What the model's server or the CLI says:
RATE_LIMIT, SERVER, NETWORK, AUTH, OVERFLOW, QUOTA, REQUEST, UNKNOWN = (
    "rate_limit", "server", "network", "auth", "context_overflow", "quota", "request", "unknown",
)  # fmt: skip
# What the supervisor decides or finds:
WALL, IDLE, TOKENS, COST, TURNS, KILLED, MISSING = (
    "wall_clock", "idle", "token_budget", "cost_budget", "turn_budget", "killed", "not_installed",
)  # fmt: skip
PASSING = (RATE_LIMIT, SERVER, NETWORK)  # a later attempt may succeed
BUDGETS = (WALL, TOKENS, COST, TURNS)

BY_STATUS = {401: AUTH, 403: AUTH, 402: QUOTA, 413: OVERFLOW, 429: RATE_LIMIT}
# In this order: the first that is found decides.
BY_TEXT = (
    (OVERFLOW, r"prompt is too long|context.?window|context.?length|ran out of room"),
    (QUOTA, r"insufficient.?quota|credit balance|billing|usage limit"),
    (AUTH, r"\b40[13]\b|unauthori[sz]ed|authentication|invalid.{0,12}api.?key|not logged in|please (run /)?login"),
    (RATE_LIMIT, r"\b429\b|rate.?limit|too many requests"),
    (NETWORK, r"malformed|disconnected|stream ended|stream closed|connection|econn|\benotfound|fetch failed|network"
              r"|timed? ?out|unexpected (token|end)|not valid json|json parse|jsondecodeerror"),
    (SERVER, r"\b5\d\d\b|overloaded|high demand|internal (server )?error|service unavailable"),
    (REQUEST, r"\b4\d\d\b|invalid.?request"),
)  # fmt: skip


@dataclass(frozen=True)
class Tokens:
    """`input` has everything that was sent, `cached` and `cache_write` included; `output` has `reasoning` in it."""

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    def __sub__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, name) - getattr(other, name) for name in self.__dataclass_fields__))

    @property
    def total(self) -> int:
        return self.input + self.output

    def to_json(self) -> dict[str, int]:
        return {"input_tokens": self.input, "cached_input_tokens": self.cached, "cache_write_tokens": self.cache_write,
                "output_tokens": self.output, "reasoning_tokens": self.reasoning}  # fmt: skip

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Tokens:
        """Inverse of to_json."""
        names = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
        return cls(*(int(body.get(name) or 0) for name in names))


@dataclass(frozen=True)
class Failure:
    """Why a session did not end well: a kind of the lists above, and one line."""

    kind: str
    text: str


def failure(text: str, status: int | None = None) -> Failure:
    """Kind of failure by HTTP status where it is known, else by the words of the message."""
    line = " ".join(text.split())[:400]
    for kind, pattern in BY_TEXT[:2]:  # these come with status 400, 403 or 429
        if re.search(pattern, line, re.IGNORECASE):
            return Failure(kind, line)
    if status in BY_STATUS:
        return Failure(BY_STATUS[status], line)
    if status is not None and status >= 500:
        return Failure(SERVER, line)
    if status is not None and 400 <= status < 500:
        return Failure(REQUEST, line)
    kind = next((kind for kind, pattern in BY_TEXT if re.search(pattern, line, re.IGNORECASE)), UNKNOWN)
    return Failure(kind, line)
