"""A copy of the project in a folder of its own, and runs of it: what the integration tests and benchmarks share."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).with_name("fake_steps.py")
OPERATOR = {
    "reference.py": "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n",
    "input.py": "import torch\n\n\ndef _make_inputs(rows):\n    return {'x': torch.randn(rows, 8)}\n",
    "shapes.json": json.dumps({"w1": {"init_kwargs": None, "input_kwargs": {"rows": 4}}}),
}
# An operator whose reference is slow, so that a kernel of one addition is faster beyond doubt.
ADDING_REFERENCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        for _ in range(24):
            x = x + 1.0
        return x
"""
ADDING_INPUT = """import torch


def _make_inputs(rows):
    return {"x": torch.randn(rows, 512)}
"""


class Project:
    """A checkout in `folder` with one small operator `tiny`; results in its subfolder `work`."""

    def __init__(self, folder: Path, python_flags: str = "", **fake: Any) -> None:
        folder = folder.resolve() / "a folder"  # with a space: nothing may depend on names without one
        folder.mkdir(parents=True)
        self.root = folder / "project"
        self.work = folder / "work"
        self.work.mkdir()
        self.python = folder / "python"
        self.python.write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {python_flags} {shlex.quote(str(FAKE))} "$@"\n'
        )
        self.python.chmod(0o755)
        self.root.mkdir()
        shutil.copy2(ROOT / "Snakefile", self.root)
        for name in ("rules", "config", "scripts"):
            shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.operator = self.root / "operators" / "tiny"
        self.operator.mkdir(parents=True)
        for name, text in OPERATOR.items():
            (self.operator / name).write_text(text)
        self.fake_file = folder / "fake.json"
        self.log = folder / "steps.log"
        self.set(**{"buckets": 2, **fake})

    def set(self, **fake: Any) -> None:
        """Change what the fake steps do."""
        before = json.loads(self.fake_file.read_text()) if self.fake_file.exists() else {}
        self.fake_file.write_text(json.dumps({**before, **fake}))

    @property
    def campaign(self) -> Path:
        return self.work / "results" / "tiny" / "cpu" / "cpp-leaderboard"

    @property
    def env(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(self.root / "scripts"),
            "KERNELWRIGHT_STEP_PYTHON": str(self.python),
            "FAKE_STEPS": str(self.fake_file),
            "FAKE_LOG": str(self.log),
            "FAKE_PROJECT": str(self.root),
        }

    extra: tuple[str, ...] = ("--no-judge-server",)  # fake steps have no use for one

    def command(self, *flags: str) -> list[str]:
        words = [sys.executable, "-m", "kernelwright.optimize", "--operator", "tiny", "--platform", "cpu"]
        return [*words, "--framework", "cpp", "--jobs", "2", *self.extra, *flags]

    def start(self, *flags: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*flags),
            cwd=self.work,
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, *flags: str, code: int = 0, timeout_s: float = 240) -> str:
        """Run to the end; returns what it printed and checks the exit code."""
        child = self.start(*flags)
        output, _ = child.communicate(timeout=timeout_s)
        assert child.returncode == code, output
        return output

    def steps(self) -> list[str]:
        """Steps run since the last call, as `verify b00 2`, sorted."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        records = [json.loads(line) for line in lines]
        return sorted(f"{one['step']} {one['bucket']} {one['version']}".replace("  0", "") for one in records)

    def artifacts(self) -> dict[str, str]:
        """Relative path -> content of every artifact, without times."""
        found = {}
        for path in sorted(self.campaign.rglob("*")):
            name = str(path.relative_to(self.campaign))
            if path.is_file() and not name.startswith(("logs/", "kernel_opt_")):
                text = path.read_text()
                if path.suffix == ".json":
                    record = json.loads(text)
                    record.pop("provenance", None)
                    text = json.dumps(record, sort_keys=True)
                found[name] = text
        return found

    def processes(self) -> list[psutil.Process]:
        """Live processes that belong to a run of this project."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("FAKE_STEPS") == str(self.fake_file) and process.pid != os.getpid():
                    found.append(process)
            except psutil.Error:
                continue
        return [process for process in found if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]

    def wait_for_step(self, name: str, timeout_s: float = 60) -> None:
        """Wait until the step log has a line of step `name`."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self.log.exists() and f'"{name}"' in self.log.read_text():
                return
            time.sleep(0.02)
        raise AssertionError(f"step {name} did not start in {timeout_s} s")

    def wait_for_partial(self, timeout_s: float = 60) -> None:
        """Wait until a step has left half a file."""
        deadline = time.monotonic() + timeout_s
        while not Path(f"{self.log}.partial").exists():
            assert time.monotonic() < deadline, "no step left half a file"
            time.sleep(0.02)

    def spans(self) -> list[tuple[float, float, str]]:
        """(start, end, step) of every step that ended."""
        records = [json.loads(line) for line in Path(f"{self.log}.times").read_text().splitlines()]
        return [(record["start"], record["end"], record["step"]) for record in records]

    def gone(self, timeout_s: float = 20) -> list[psutil.Process]:
        """Processes of the run that are still there after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left
