"""What the tests of both languages' templates share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kernelwright import operators, paths
from kernelwright.search import recognise
from kernelwright.search.templates.base import Facts


@pytest.fixture(scope="session")
def seen_in() -> Callable[[str, str], Any]:
    """(framework, operator name) -> (operator, facts, reading), recognised once."""
    found: dict[tuple[str, str], Any] = {}

    def get(framework: str, name: str) -> Any:
        if (framework, name) not in found:
            operator = operators.load(paths.operators_dir() / name)
            body = recognise.recognise(operator, framework)
            (match,) = body["matches"]
            found[framework, name] = (operator, Facts.from_json(body["facts"]), match)
        return found[framework, name]

    return get
