"""One session of a coding CLI in front of a scripted model: what the tests of sessions share."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

from kernelwright import agents, artifacts

sys.path.insert(0, str(Path(__file__).parents[1]))

from fake_model import clients
from fake_model.server import FakeModel, Server

spec = importlib.util.spec_from_file_location(
    "context_files", Path(__file__).parents[1] / "unit" / "agents" / "context_files.py"
)
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)

CLIS = ("claude", "codex", "pi", "api")
HANDOFF = {"outcome": "candidate_ready", "summary": "one pass", "journal": [{"idea": "fuse", "result": "faster"}]}
PLAN = {"hypothesis": "h", "change": "c", "category": "fusion"}
CANDIDATE = [
    {"write": ["b00.py", "# faster\n"]},
    {"judge": "b00.py"},
    {"write": ["handoff.json", json.dumps(HANDOFF) + "\n"]},
    {"text": "DONE"},
]
GOOD_PLAN = {
    "hypothesis": "idle cores", "category": "parallelism", "wiki": [], "change": "use all threads", "predicted_gain": 1.5,
    "evidence": [{"metric": "parallel_efficiency", "value": 0.5, "unit": "ratio"}],
}  # fmt: skip
SCRIPTS = {
    "Write a faster kernel": CANDIDATE,
    "Plan the next version": [{"write": ["plan.json", json.dumps(GOOD_PLAN) + "\n"]}, {"text": "DONE"}],
    "not complete": [{"write": ["handoff.json", json.dumps(HANDOFF) + "\n"]}, {"text": "DONE"}],
}


def verdict(kernel, *_):
    """A judge with fixed answers."""
    good = "faster" in Path(kernel).read_text()
    timing = {"geomean": {"incumbent": {"value": 2.0, "low": 1.9, "high": 2.1}}, "workloads": {}}
    return {"status": "accepted" if good else "rejected", "reason": None if good else "wrong_values", "stage": None,
            "sentence": "A sentence.", "timing": timing if good else None, "correctness": {"workloads": {}}, "log": ""}  # fmt: skip


class World:
    """One CLI, a fake model, an episode."""

    def __init__(self, name, tmp_path, monkeypatch, clis, faults=(), scripts=SCRIPTS, **session):
        self.clis = clis
        self.name, self.model = name, FakeModel(dict(scripts), list(faults))
        self.server = Server(self.model)
        url = self.server.__enter__()
        self.home = tmp_path / "home"
        for key, value in clients.variables(name, url, self.home, clis).items():
            monkeypatch.setenv(key, value)
        self.ctx = files.context(tmp_path, judge=verdict)
        session.setdefault("isolation", "none")
        self.ctx.config["agents"]["session"].update(session)
        self.agent = agents.get(name)

    def candidate(self):
        return self.agent.candidate(self.ctx, PLAN)

    @property
    def records(self):
        folder = self.ctx.campaign.version_dir("b00", 1) / "sessions"
        return [artifacts.read(path, "session") for path in sorted(folder.glob("*-*.json"))]

    def written(self):
        """Everything that lies below the campaign, as one text."""
        return "\n".join(
            path.read_text(errors="replace") for path in self.ctx.campaign.root.rglob("*") if path.is_file()
        )


def assert_billed(usage, model):
    billed = model.total()
    assert (usage["input_tokens"], usage["cached_input_tokens"], usage["output_tokens"]) == (
        billed["input"], billed["cached"], billed["output"],
    )  # fmt: skip
