"""What an agent is told of earlier versions: a bounded choice, in the words that its mode allows."""

from __future__ import annotations

from typing import Any

from kernelwright import artifacts
from kernelwright.agents.base import EpisodeContext
from kernelwright.agents.disguise import Names

MOST = 12  # lessons in a prompt: the newest accepted ones, then the newest others
MOST_ACCEPTED = 4
MOST_JOURNALS = 2  # versions whose session's journal is quoted
MOST_ENTRIES = 6  # of a journal
LONGEST = 400  # characters of one text


def chosen(memories: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most MOST memories, in the order of their versions."""
    accepted = [memory for memory in memories if memory["outcome"] == "accepted"][-MOST_ACCEPTED:]
    others = [memory for memory in memories if memory["outcome"] != "accepted"][-(MOST - len(accepted)) :]
    return sorted(accepted + others, key=lambda memory: memory["version"])


def shown(ctx: EpisodeContext, names: Names) -> list[dict[str, Any]]:
    """{version, outcome, lesson, journal} of the chosen memories."""
    memories = chosen(ctx.memories)
    quoted = {memory["version"] for memory in memories[-MOST_JOURNALS:]}
    found = []
    for memory in memories:
        text = memory["lesson"]
        if names.hidden:  # a judge's sentence can name sizes
            change = memory.get("change") or memory.get("hypothesis") or "nothing was tried"
            text = f"{change}: {memory['outcome']}" + (f", {memory['reason']}" if memory.get("reason") else "")
        journal = _journal(ctx, memory["version"]) if memory["version"] in quoted else []
        entry = {
            "version": memory["version"],
            "outcome": memory["outcome"],
            "lesson": text[:LONGEST],
            "journal": journal,
        }
        found.append(names.show(entry))
    return found


def _journal(ctx: EpisodeContext, version: int) -> list[dict[str, str]]:
    """What the session of a version noted, from its usage.json."""
    path = ctx.campaign.version_dir(ctx.bucket, version) / "candidate" / "usage.json"
    if not path.is_file():
        return []
    said = artifacts.read_json(path).get("handoff") or {}
    return [
        {key: str(entry[key])[:LONGEST] for key in ("idea", "result")}
        for entry in said.get("journal", [])[:MOST_ENTRIES]
    ]
