"""What a kernel's process may answer. It may be hostile, so nothing of an answer is used before it has this form."""

from __future__ import annotations

import math
from typing import Any

from kernelwright.judge.faults import clean

MAX_ADDRESS = 1 << 62
MAX_TEXT = 500
WRONG_FORM = "the kernel's process gave an answer of the wrong form"


class WrongForm(ValueError):
    """An answer is not what was asked for."""


def whole(value: Any, most: int = MAX_ADDRESS) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -most <= value <= most:
        raise WrongForm
    return value


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongForm
    return clean(value[:MAX_TEXT])


def items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise WrongForm
    return value


def addresses(reply: Any) -> list[list[int]]:
    """Of the inputs of each set."""
    return [[whole(address) for address in items(one)] for one in items(reply.get("addresses"))]


def facts(reply: Any) -> list[dict[str, Any]]:
    """Of each output of a call."""
    return [fact(item) for item in items(reply.get("outputs"))]


def fact(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongForm
    found: dict[str, Any] = {"name": value.get("name") if value.get("name") is None else text(value["name"])}
    for key in ("type", "dtype", "device"):
        if key in value:
            found[key] = text(value[key])
    for key in ("shape", "stride"):
        if key in value:
            found[key] = [whole(size) for size in items(value[key])]
    if "pointer" in value:
        found["pointer"] = whole(value["pointer"])
    if "value" in value:
        found["value"] = scalar(value["value"])
    return found


def scalar(value: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool | float):
        return value
    return whole(value)


def pointers(reply: Any, calls: int) -> list[list[int]]:
    """Addresses of the outputs of each call of a batch."""
    found = [[whole(pointer) for pointer in items(one)] for one in items(reply.get("pointers"))]
    if len(found) != calls:
        raise WrongForm
    return found


def names(reply: Any) -> list[str] | None:
    """Names of the outputs of a batch where calls returned a mapping."""
    found = reply.get("names")
    return None if found is None else [text(name) for name in items(found)]


def profile(reply: Any) -> dict[str, Any]:
    """Rows of name, microseconds and number of calls; names of the loaded modules."""
    rows = []
    for row in items(reply.get("rows")):
        name, micros, count = items(row) if len(items(row)) == 3 else (None, None, None)
        if isinstance(micros, bool) or not isinstance(micros, int | float) or not 0 <= micros < math.inf:
            raise WrongForm
        if abs(micros) > MAX_ADDRESS:
            raise WrongForm
        rows.append([text(name), float(micros), whole(count)])
    return {"rows": rows, "modules": [text(name) for name in items(reply.get("modules"))]}
