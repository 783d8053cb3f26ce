"""Keep the values of secret variables out of everything that is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
SHORTEST = 6  # characters; a shorter value is a word that other text has too


def values(*environments: Mapping[str, str]) -> dict[str, str]:
    """Value -> name of every variable whose name says that it is secret."""
    found = {}
    for environment in environments:
        for name, value in environment.items():
            if NAMES.search(name) and len(value) >= SHORTEST and not value.startswith("/"):  # a path is no secret
                found[value] = name
    return found


def redactor(*environments: Mapping[str, str]) -> Callable[[str], str]:
    """A function that replaces each secret value in a text by `[redacted NAME]`."""
    known = values(*environments)
    if not known:
        return lambda text: text
    pattern = re.compile("|".join(re.escape(value) for value in sorted(known, key=len, reverse=True)))
    return lambda text: pattern.sub(lambda match: f"[redacted {known[match.group()]}]", text)
