"""Bad files and numbers end in one line that names them."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright import artifacts, config
from kernelwright.engine import campaigns, lock
from kernelwright.errors import InputError
from kernelwright.paths import Campaign


def test_nan_is_no_setting() -> None:
    with pytest.raises(InputError, match=r"stop.target_utilization: nan; allowed: a finite number"):
        config.load(None, {"stop.target_utilization": float("nan")})


def test_a_section_that_is_no_mapping_names_the_users_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("stop: 3\n")
    with pytest.raises(InputError, match=rf"{path}: stop: 3; allowed: a mapping of max_iters"):
        config.load(path)


def test_a_binary_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=f"{path}: not a text file"):
        config.load(path)


def test_results_that_are_no_folder_are_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(InputError, match="is no folder that can be written"), lock.exclusive(path):
        pass


def test_a_truncated_verdict_beside_its_memory_is_made_again(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, "op", "cpu", "cpp", "leaderboard")
    folder = campaign.version_dir("b00", 1)
    artifacts.write_text(folder / "memory.json", "{}\n")
    artifacts.write_text(folder / "verdict.json", '{"kind": "verdict", "samples": [1, 2')
    assert campaigns.drop_unreadable(campaign) == [folder / "verdict.json"]
    assert not (folder / "verdict.json").exists()


def test_a_held_folder_is_known_as_such(tmp_path: Path) -> None:
    assert not lock.held(tmp_path)
    with lock.exclusive(tmp_path):
        assert lock.held(tmp_path)
    assert not lock.held(tmp_path)
