"""The Git workspace: HEAD is the incumbent, commits are not repeated, worktrees come and go."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import git
import pytest
from campaign_files import add_version, campaign, incumbent
from kernelwright import operators, workspace


@pytest.fixture
def operator(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "reference.py").write_text(
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    )
    (folder / "input.py").write_text("def _make_inputs(rows):\n    return {}\n")
    (folder / "shapes.json").write_text(json.dumps({"w0": {"init_kwargs": None, "input_kwargs": {"rows": 1}}}))
    (folder / "metadata.json").write_text("{}")
    return operators.load(folder)


def messages(made):
    return [commit.message for commit in git.Repo(made.workspace).iter_commits()]


def test_accepted_version_is_one_commit_with_trailers(tmp_path, operator):
    made = campaign(tmp_path)
    add_version(made, 1, "accepted")
    best = incumbent(made, 1)
    assert workspace.record(made, operator, "b00", best, "one pass", 1.5)
    assert not workspace.record(made, operator, "b00", best, "one pass", 1.5)
    newest, first = messages(made)
    assert newest.splitlines()[0] == "b00 v001: one pass"
    trailers = ["Bucket: b00", "Version: v001", "Speedup: 1.5", f"Kernel-Sha256: {best['kernel_sha256']}"]
    assert newest.strip().splitlines()[-4:] == trailers
    assert "Version: v000" in first
    head = git.Repo(made.workspace).head.commit
    assert head.author.name == "Kernelwright" and head.author.email == "kernelwright@localhost"
    assert head.tree["kernels/b00.py"].data_stream.read() == b"# b00 1\n"


def test_hidden_files_of_the_operator_stay_out(tmp_path, operator):
    made = campaign(tmp_path)
    workspace.record(made, operator, "b00", incumbent(made))
    assert (made.workspace / "operator" / "reference.py").is_file()
    assert not (made.workspace / "operator" / "metadata.json").exists()


def test_head_goes_back_when_a_rerun_no_longer_accepts(tmp_path, operator):
    made = campaign(tmp_path)
    add_version(made, 1, "accepted")
    workspace.record(made, operator, "b00", incumbent(made, 1), "one pass", 1.5)
    assert workspace.record(made, operator, "b00", incumbent(made))
    assert (made.workspace / "kernels" / "b00.py").read_text() == "# baseline\n"


def test_worktree_starts_from_the_incumbent_before_and_is_removed(tmp_path, operator):
    made = campaign(tmp_path)
    add_version(made, 1, "accepted")
    add_version(made, 2, "accepted")
    workspace.record(made, operator, "b00", incumbent(made, 2))
    with workspace.episode_worktree(made, "b00", 2, operator) as (worktree, kernel):
        assert kernel.read_text() == "# b00 1\n" and (worktree / "operator" / "reference.py").is_file()
        kernel.write_text("# changed\n")
    assert not worktree.exists()
    assert len(git.Repo(made.workspace).git.worktree("list").splitlines()) == 1
    assert (made.workspace / "kernels" / "b00.py").read_text() == "# b00 1\n"


def test_stale_worktree_of_a_killed_episode_is_replaced(tmp_path, operator):
    made = campaign(tmp_path)
    episode = workspace.episode_worktree(made, "b00", 1, operator)
    _, kernel = episode.__enter__()  # killed here: no exit
    kernel.write_text("# half")
    with workspace.episode_worktree(made, "b00", 1, operator) as (_, again):
        assert again.read_text() == "# baseline\n"


def test_stale_index_lock_does_not_block(tmp_path, operator):
    made = campaign(tmp_path)
    workspace.record(made, operator, "b00", incumbent(made))
    (made.workspace / ".git" / "index.lock").touch()
    add_version(made, 1, "accepted")
    assert workspace.record(made, operator, "b00", incumbent(made, 1))


def test_parallel_buckets_lose_no_commit(tmp_path, operator):
    made = campaign(tmp_path, buckets=4)
    names = [f"b{n:02d}" for n in range(4)]
    for name in names:
        add_version(made, 1, "accepted", bucket=name)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda name: workspace.record(made, operator, name, incumbent(made, 1, name)), names))
    assert all(done) and len(messages(made)) == 5


def test_commands_of_a_git_hook_do_not_leak_in(tmp_path, operator, monkeypatch):
    other = git.Repo.init(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    made = campaign(tmp_path)
    with workspace.episode_worktree(made, "b00", 1, operator):
        pass
    assert not other.head.is_valid()
