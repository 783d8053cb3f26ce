"""Read and write a campaign's JSON artifacts: whole files, closed schemas, provenance.

Every artifact is `{"schema_version": 1, "kind": KIND, "provenance": {...}, ...}` and is checked against
config/schemas/KIND.schema.yaml on write and on read.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kernelwright import __version__, paths
from kernelwright.errors import InputError

SCHEMA_VERSION = 1
PASS_THROUGH = "pass_through"


def load_yaml(path: Path) -> Any:
    """Parse one YAML file. Raises InputError naming the file and line."""
    try:
        return yaml.load(Path(path).read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text file in UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise InputError(f"{where}: not valid YAML ({getattr(error, 'problem', error)})") from None


@cache
def _schema(file: str) -> Any:
    return load_yaml(paths.schemas_dir() / file)


@cache
def _validator(kind: str) -> Any:
    from jsonschema import Draft202012Validator  # 60 ms: only for those who validate
    from referencing import Registry, Resource

    def resource(uri: str) -> Any:
        return Resource.from_contents(_schema(uri))

    registry: Any = Registry(retrieve=resource)  # type: ignore[call-arg]
    return Draft202012Validator(_schema(f"{kind}.schema.yaml"), registry=registry)


def explain(error: Any) -> str:
    """One line for a jsonschema ValidationError: field, value, what is allowed."""
    from jsonschema.exceptions import best_match

    if error.context:
        error = best_match(error.context) or error
    field = ".".join(str(part) for part in error.absolute_path) or "(top level)"
    value = json.dumps(error.instance, default=str)
    value = value if len(value) <= 80 else value[:77] + "..."
    if error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - set(known))
        return f"{field}: unknown key {', '.join(map(repr, unknown))}; allowed: {', '.join(known)}"
    if error.validator == "required":
        missing = sorted(set(error.schema["required"]) - set(error.instance))
        return f"{field}: missing key {', '.join(map(repr, missing))}"
    if error.validator == "enum":
        return f"{field}: {value} is not one of {', '.join(map(str, error.validator_value))}"
    return f"{field}: {value}: {error.message if len(error.message) < 200 else error.validator + ' violated'}"


def validate(body: Any, kind: str, where: str | Path) -> None:
    """Check `body` against config/schemas/<kind>.schema.yaml. Raises InputError with one line.

    Schemas let NaN and infinity pass as numbers, JSON has neither: they are refused here.
    """
    odd = next(_not_finite(body), None)
    if odd is not None:
        raise InputError(f"{where}: {odd[0]}: {odd[1]}; allowed: a finite number")
    error = next(
        iter(sorted(_validator(kind).iter_errors(body), key=lambda e: [str(p) for p in e.absolute_path])), None
    )
    if error is not None:
        raise InputError(f"{where}: {explain(error)}")


def _not_finite(body: Any, field: str = "") -> Iterator[tuple[str, float]]:
    """(field, value) of every NaN and infinity."""
    if isinstance(body, float) and not math.isfinite(body):
        yield field, body
    elif isinstance(body, Mapping):
        for key, value in body.items():
            yield from _not_finite(value, f"{field}.{key}" if field else str(key))
    elif isinstance(body, list | tuple):
        for index, value in enumerate(body):
            yield from _not_finite(value, f"{field}.{index}")


def is_whole(path: Path) -> bool:
    """Whether a JSON artifact ends like an object: a cheap look at files too long to parse for that."""
    with Path(path).open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 8))
        return stream.read().rstrip().endswith(b"}")


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole: temporary name in the same folder, then os.replace."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def provenance(**facts: Any) -> dict[str, Any]:
    """Common provenance: when, by which version, on what. `facts` adds code_digest, kernel_sha256, seeds, parents..."""
    return {
        "kernelwright": __version__,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        **facts,
    }


def write(path: Path, kind: str, body: Mapping[str, Any], **facts: Any) -> dict[str, Any]:
    """Add schema_version, kind and provenance to `body`, validate, write whole; returns what was written."""
    record = {"schema_version": SCHEMA_VERSION, "kind": kind, "provenance": provenance(**facts), **body}
    validate(record, kind, path)
    write_text(path, json.dumps(record, indent=1, allow_nan=False) + "\n")
    return record


def read_json(path: Path) -> Any:
    """Parse one JSON file. Raises InputError naming the file."""
    try:
        return json.loads(Path(path).read_text())
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error})") from None


def read(path: Path, kind: str) -> dict[str, Any]:
    """Read and validate one artifact. Raises InputError when it is missing, of another kind or off its schema."""
    record = read_json(path)
    found = record.get("kind") if isinstance(record, dict) else None
    if found != kind:
        raise InputError(f"{path}: kind is {found!r}, expected {kind!r}")
    validate(record, kind, path)
    return record


def is_pass_through(path: Path) -> bool:
    """True when the file is the placeholder of a version that a stop left unrun (see stop.py)."""
    record = read_json(path)
    return isinstance(record, dict) and record.get("kind") == PASS_THROUGH


def sha256_file(path: Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
