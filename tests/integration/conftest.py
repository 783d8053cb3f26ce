"""Fixtures of the integration tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from project import Project


@pytest.fixture
def project(tmp_path: Path):
    """A copy of the project with fake steps; whatever it started is ended."""
    made = Project(tmp_path)
    yield made
    for process in made.processes():
        process.kill()
