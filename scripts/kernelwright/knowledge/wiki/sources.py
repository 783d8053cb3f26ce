"""Where cards come from: the built-in wiki, private folders of the config, and plugins.

A plugin is an entry point of group `kernelwright.knowledge` that gives a function without arguments; it returns a Source,
whose folder has the layout of gpu-wiki. The attribution is shown with every card of that source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from kernelwright import paths
from kernelwright.errors import InputError
from kernelwright.knowledge.wiki.cards import FOLDERS

GROUP = "kernelwright.knowledge"


@dataclass(frozen=True)
class Source:
    """A folder of cards and who is to be named for them."""

    name: str
    attribution: str
    directory: Path

    def files(self) -> list[Path]:
        """Card files, in the order of their names."""
        found = [path for folder in FOLDERS.values() for path in (self.directory / folder).glob("*.md")]
        return sorted(found)


def builtin() -> Source:
    """The wiki that comes with the project."""
    return Source("kernelwright", "Kernelwright's own wiki, Apache-2.0", paths.wiki_dir())


def private(folders: Iterable[str]) -> list[Source]:
    """A team's folders, from the setting `knowledge.wikis`. Raises InputError for one that is missing."""
    found = []
    for folder in folders:
        directory = Path(folder).expanduser()
        if not directory.is_dir():
            raise InputError(f"knowledge.wikis: {folder}: no such folder")
        found.append(Source(directory.resolve().name, f"private wiki {directory}", directory.resolve()))
    return found


def plugins() -> list[Source]:
    """Sources of installed packages. Raises InputError naming a plugin that does not give a Source."""
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda item: item.name):
        try:
            source = entry.load()()
        except Exception as error:  # a plugin is other people's code: name it, whatever it raises
            raise InputError(f"knowledge plugin {entry.name!r} ({entry.value}): {error!r}") from None
        if not isinstance(source, Source):
            raise InputError(
                f"knowledge plugin {entry.name!r} ({entry.value}): gave {type(source).__name__}, not Source"
            )
        found.append(source)
    return found


def everything(config: Mapping[str, Any] | None = None) -> list[Source]:
    """All sources, the built-in wiki first; of two with one folder the first stays."""
    wikis = ((config or {}).get("knowledge") or {}).get("wikis") or []
    unique: dict[Path, Source] = {}
    for source in (builtin(), *private(wikis), *plugins()):
        unique.setdefault(source.directory.resolve(), source)
    names = [source.name for source in unique.values()]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"knowledge sources: two are named {name!r}; rename a folder")
    return list(unique.values())
