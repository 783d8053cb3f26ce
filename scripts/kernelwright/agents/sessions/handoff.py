"""What a session leaves in its folder when it ends: handoff.json, and plan.json in the plan step. Read as data."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from kernelwright import artifacts
from kernelwright.errors import InputError

HANDOFF, PLAN = "handoff.json", "plan.json"
LARGEST = 1 << 18  # bytes
PLAN_KEYS = ("hypothesis", "category", "evidence", "wiki", "change", "predicted_gain")
CATEGORIES = ("fusion", "vectorization", "parallelism", "tiling", "memory_layout", "algorithm", "precision", "launch",
              "scheduling", "tuning", "baseline", "other")  # fmt: skip


def read_bounded(path: Path, label: str, largest: int) -> bytes:
    """A file that an agent wrote. Raises InputError, beginning with `label`: a link, no regular file, too large."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise InputError(f"{label}: {error.strerror}") from None
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise InputError(f"{label}: not a regular file")
        data = stream.read(largest + 1)
    if len(data) > largest:
        raise InputError(f"{label}: larger than {largest} bytes")
    return data


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object that an agent wrote. Raises InputError: missing, a link, too large, not JSON, no object."""
    if not os.path.lexists(path):
        raise InputError(f"{path.name}: no such file")
    data = read_bounded(path, path.name, LARGEST)
    try:
        body = json.loads(data)
    except ValueError as error:
        raise InputError(f"{path.name}: not valid JSON ({error})") from None
    if not isinstance(body, dict):
        raise InputError(f"{path.name}: an object is expected")
    return body


def read(folder: Path) -> dict[str, Any]:
    """handoff.json, checked against its schema. Raises InputError."""
    body = read_object(folder / HANDOFF)
    artifacts.validate(body, "handoff", HANDOFF)
    return body


def read_plan(folder: Path) -> dict[str, Any]:
    """plan.json with exactly its keys; what it cites is checked by the step. Raises InputError."""
    body = read_object(folder / PLAN)
    missing = [key for key in PLAN_KEYS if key not in body]
    unknown = sorted(set(body) - set(PLAN_KEYS))
    if missing or unknown:
        what = (
            f"missing key {', '.join(map(repr, missing))}"
            if missing
            else f"unknown key {', '.join(map(repr, unknown))}"
        )
        raise InputError(f"{PLAN}: {what}; the keys are {', '.join(PLAN_KEYS)}")
    for key in ("hypothesis", "change"):
        if not isinstance(body[key], str) or not body[key].strip():
            raise InputError(f"{PLAN}: {key}: a sentence is expected")
    if body["category"] not in CATEGORIES:
        raise InputError(f"{PLAN}: category: {body['category']!r} is not one of {', '.join(CATEGORIES)}")
    gain = body["predicted_gain"]
    if isinstance(gain, bool) or not isinstance(gain, int | float | None) or (gain is not None and not gain > 0):
        raise InputError(f"{PLAN}: predicted_gain: {gain!r}: a speedup above 0 or null is expected")
    return body
