"""Fixtures of the integration tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from project import Project
from session_world import World, clients


@pytest.fixture
def project(tmp_path: Path):
    """A copy of the project with fake steps; whatever it started is ended."""
    made = Project(tmp_path)
    yield made
    for process in made.processes():
        process.kill()


@pytest.fixture(scope="session")
def clis(tmp_path_factory):
    return clients.folder(tmp_path_factory)


@pytest.fixture
def world(tmp_path, monkeypatch, clis):
    made = []

    def make(name, **facts):
        made.append(World(name, tmp_path, monkeypatch, clis, **facts))
        return made[-1]

    yield make
    for one in made:
        one.server.__exit__()
