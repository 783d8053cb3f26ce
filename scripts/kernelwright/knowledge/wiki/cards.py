"""A card: Markdown with closed front matter (config/schemas/card.schema.yaml), read, checked and written."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kernelwright import artifacts
from kernelwright.errors import InputError

SCOPES = ("vendors", "architectures", "frameworks", "families")
ANY = "any"
FOLDERS = {"technique": "techniques", "symptom": "symptoms", "pitfall": "pitfalls", "kernel": "kernels"}
SECTIONS = {
    "technique": ("Mechanism", "When", "When not", "How"),
    "symptom": ("What it looks like", "Causes", "What to do"),
    "pitfall": ("What happens", "Why", "Instead"),
    "kernel": ("Structure", "When", "Limits"),
}
FENCE = "---\n"
HEADING = re.compile(r"^## (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Card:
    """One card; `source` names the knowledge source it came from."""

    facts: dict[str, Any]  # the front matter
    body: str
    path: Path
    source: str

    @property
    def id(self) -> str:
        return str(self.facts["id"])

    @property
    def kind(self) -> str:
        return str(self.facts["kind"])

    def scope(self, name: str) -> list[str]:
        """Values of one scope: vendors, architectures, frameworks or families."""
        return list(self.facts["applies_to"][name])


def split(text: str, where: Path) -> tuple[str, str]:
    """(front matter, body). Raises InputError when the file does not start with a closed front matter."""
    head, end, body = text[len(FENCE) :].partition("\n" + FENCE)
    if not text.startswith(FENCE) or not end:
        raise InputError(f"{where}: front matter: the file must start with `---` and close it with `---`")
    return head, body.strip() + "\n"


def front_matter(head: str, where: Path) -> Any:
    try:
        return yaml.load(head, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 2}" if mark else ""
        raise InputError(f"{where}{line}: front matter: not valid YAML ({getattr(error, 'problem', error)})") from None


def parse(text: str, path: Path, source: str = "file") -> Card:
    """A checked card. Raises InputError with one line that names file, field, value and what is allowed."""
    head, body = split(text, path)
    facts = front_matter(head, path)
    artifacts.validate(facts, "card", path)
    if facts["id"] != path.stem:
        raise InputError(f"{path}: id: {facts['id']!r} differs from the file name {path.stem!r}")
    for name, values in facts["applies_to"].items():
        if ANY in values and len(values) > 1:
            raise InputError(f"{path}: applies_to.{name}: {values}; allowed: [{ANY}] or a list without it")
    found, wanted = tuple(HEADING.findall(body)), SECTIONS[facts["kind"]]
    if found != wanted:
        raise InputError(f"{path}: sections: {', '.join(found) or 'none'}; allowed: {', '.join(wanted)}, in this order")
    return Card(facts, body, path, source)


def read(path: Path, source: str = "file") -> Card:
    """One card file, checked. Raises InputError."""
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    return parse(text, Path(path), source)


def text_of(facts: dict[str, Any], body: str) -> str:
    """The Markdown of a card; `parse` reads it back."""
    head = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=118, default_flow_style=None)
    return f"{FENCE}{head}{FENCE}\n{body.strip()}\n"


def sections(body: str) -> dict[str, str]:
    """Heading -> text."""
    parts = HEADING.split(body)[1:]
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
