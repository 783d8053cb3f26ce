"""The Git workspace of a campaign: HEAD holds the incumbent kernel of every bucket, each change is a commit.

    README.md            what this is
    operator/            the operator as the campaign read it
    kernels/<bucket>.py  incumbent of the bucket; the baseline until a version was accepted
    kernel.py            all buckets behind one entry point, once there is a dispatcher

Buckets run in parallel, so every change of the repository is made under one file lock.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from kernelwright import artifacts, paths, stop
from kernelwright.errors import InputError
from kernelwright.operators import Operator

NAME, EMAIL = "Kernelwright", "kernelwright@localhost"
HIDDEN = ("metadata.json", "roofline.json")  # never shown to an agent
README = """# {operator} on {platform}, {framework}, {mode}

Kernels found by Kernelwright. HEAD is the best accepted kernel of every bucket of workloads: `kernels/<bucket>.py`, and
`kernel.py` for all of them once the campaign has a dispatcher. `operator/` is the problem. Each commit is one accepted
version; its trailers say which (`git log --format='%h %s%n%(trailers)'`).
"""


def _lock(campaign: paths.Campaign) -> FileLock:
    campaign.root.mkdir(parents=True, exist_ok=True)
    return FileLock(campaign.root / ".workspace.lock")


def _repository(campaign: paths.Campaign) -> Any:
    """The campaign's repository, made when it is not there. The caller holds the lock."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]  # a run inside a Git hook must not write into the repository of the hook
    import git

    root = campaign.workspace
    if (root / ".git").is_dir():
        try:
            return git.Repo(root)
        except git.InvalidGitRepositoryError:
            shutil.rmtree(root)  # killed while it was made
    repository = git.Repo.init(root, mkdir=True, initial_branch="main")
    with repository.config_writer() as writer:
        writer.set_value("user", "name", NAME)
        writer.set_value("user", "email", EMAIL)
        writer.set_value("gc", "auto", "0")
    return repository


def _commit(repository: Any, files: Mapping[str, bytes], title: str, trailers: Mapping[str, str]) -> bool:
    """Commit `files` (path in the workspace -> content) if any differs from HEAD; True when there was a commit."""
    from git import Actor

    root = Path(repository.working_dir)
    head = repository.head.commit.tree if repository.head.is_valid() else None
    changed = []
    for name, content in files.items():
        path = root / name
        if not path.is_file() or path.read_bytes() != content:
            artifacts.write_bytes(path, content)
        if head is None or not _same(head, name, content):
            changed.append(name)
    if not changed:
        return False
    index_lock = Path(repository.git_dir) / "index.lock"
    index_lock.unlink(missing_ok=True)  # of a killed process: this one holds the workspace's lock
    repository.index.add(changed)
    who = Actor(NAME, EMAIL)
    message = title + "\n\n" + "".join(f"{key}: {value}\n" for key, value in trailers.items())
    repository.index.commit(message, author=who, committer=who, skip_hooks=True)
    return True


def _same(tree: Any, name: str, content: bytes) -> bool:
    try:
        return bool(tree[name].data_stream.read() == content)
    except KeyError:
        return False


def _operator_files(operator: Operator) -> dict[str, bytes]:
    shown = [path for path in operator.files if path.name not in HIDDEN]
    return {f"operator/{path.relative_to(operator.directory)}": path.read_bytes() for path in shown}


def _kernel_files(campaign: paths.Campaign, root: Path) -> dict[str, bytes]:
    """Baseline kernel for every bucket that has no kernel in the workspace yet."""
    baseline = (campaign.root / stop.BASELINE_KERNEL).read_bytes()
    buckets = [bucket["id"] for bucket in artifacts.read_json(campaign.buckets)["buckets"]]
    names = [f"kernels/{bucket}.py" for bucket in buckets]
    return {name: baseline for name in names if not (root / name).is_file()}


def _start(campaign: paths.Campaign, repository: Any, operator: Operator) -> None:
    """The first commit, and a new one whenever the operator's files changed."""
    facts = {"operator": campaign.operator, "platform": campaign.platform}
    readme = README.format(**facts, framework=campaign.framework, mode=campaign.mode).encode()
    files = {"README.md": readme, **_operator_files(operator), **_kernel_files(campaign, Path(repository.working_dir))}
    _commit(repository, files, f"{campaign.operator}: the problem and its baseline", {"Version": "v000"})


def _set_incumbent(
    campaign: paths.Campaign,
    repository: Any,
    bucket: str,
    incumbent: Mapping[str, Any],
    title: str,
    speedup: float | None,
) -> bool:
    """Make HEAD hold `incumbent` for the bucket; no commit when it does already."""
    trailers = {"Bucket": bucket, "Version": f"v{incumbent['version']:03d}"}
    if speedup is not None:
        trailers["Speedup"] = f"{speedup:.4g}"
    trailers["Kernel-Sha256"] = incumbent["kernel_sha256"]
    content = (campaign.root / incumbent["kernel_path"]).read_bytes()
    return _commit(repository, {f"kernels/{bucket}.py": content}, title, trailers)


def record(
    campaign: paths.Campaign,
    operator: Operator,
    bucket: str,
    incumbent: Mapping[str, Any],
    hypothesis: str = "",
    speedup: float | None = None,
) -> bool:
    """Make HEAD hold the bucket's incumbent, after a verdict; True when that took a commit. Safe to repeat."""
    with _lock(campaign):
        repository = _repository(campaign)
        _start(campaign, repository, operator)
        what = " ".join(hypothesis.split())[:60] or "the baseline again"
        title = f"{bucket} v{incumbent['version']:03d}: {what}"
        return _set_incumbent(campaign, repository, bucket, incumbent, title, speedup)


def record_dispatcher(campaign: paths.Campaign, operator: Operator, kernel: Path, speedup: float | None = None) -> bool:
    """Commit the dispatcher as kernel.py; True when that took a commit. Safe to repeat."""
    trailers = {"Kernel-Sha256": artifacts.sha256_file(kernel)}
    if speedup is not None:
        trailers = {"Speedup": f"{speedup:.4g}", **trailers}
    with _lock(campaign):
        repository = _repository(campaign)
        _start(campaign, repository, operator)
        return _commit(repository, {"kernel.py": kernel.read_bytes()}, "One kernel for all buckets", trailers)


@contextlib.contextmanager
def episode_worktree(
    campaign: paths.Campaign, bucket: str, version: int, operator: Operator | None = None
) -> Iterator[tuple[Path, Path]]:
    """(worktree at HEAD, kernel file of the bucket in it) for one episode; the worktree is removed afterwards.

    The kernel file holds the incumbent before `version`. `operator` is needed when the workspace is not there yet.
    Raises InputError when it is missing then.
    """
    worktree = (campaign.worktrees / f"{bucket}-v{version:03d}").absolute()
    with _lock(campaign):
        repository = _repository(campaign)
        if operator is not None:
            _start(campaign, repository, operator)
        elif not repository.head.is_valid():
            raise InputError(f"{campaign.workspace}: no commit yet; the operator is needed to make the first one")
        _prune(repository, worktree)
        incumbent = _incumbent_before(campaign, bucket, version)
        _set_incumbent(campaign, repository, bucket, incumbent, f"{bucket}: back to v{incumbent['version']:03d}", None)
        repository.git.worktree("add", "--detach", "--force", str(worktree), "HEAD")
    try:
        yield worktree, worktree / "kernels" / f"{bucket}.py"
    finally:
        with _lock(campaign):
            _prune(repository, worktree)
        repository.close()


def _incumbent_before(campaign: paths.Campaign, bucket: str, version: int) -> dict[str, Any]:
    facts = stop.version_facts(campaign, bucket, version - 1) if version > 1 else None
    return facts.incumbent if facts is not None else stop.baseline_incumbent(campaign)


def _prune(repository: Any, worktree: Path) -> None:
    """Remove `worktree` and Git's records of worktrees whose folder is gone."""
    shutil.rmtree(worktree, ignore_errors=True)
    repository.git.worktree("prune")
