"""Where the project's own files and a campaign's artifacts lie. The only module that knows the tree."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelwright.errors import InputError

PACKAGE = Path(__file__).resolve().parent


@cache
def project_root() -> Path:
    """Folder with Snakefile, rules/, config/, operators/, gpu-wiki/: a checkout, or `_project` in an installed wheel."""
    checkout = PACKAGE.parent.parent
    return checkout if (checkout / "Snakefile").is_file() else PACKAGE / "_project"


def search_path(path: str | None = None) -> str:
    """`path`, else PATH, with the interpreter's own folder first, where pip puts ninja."""
    return os.pathsep.join([str(Path(sys.executable).parent), path or os.environ.get("PATH", os.defpath)])


def schemas_dir() -> Path:
    return project_root() / "config" / "schemas"


def platforms_dir() -> Path:
    return project_root() / "config" / "platforms"


def operators_dir() -> Path:
    return project_root() / "operators"


def wiki_dir() -> Path:
    return project_root() / "gpu-wiki"


@dataclass(frozen=True)
class Campaign:
    """Paths of one campaign: results/<operator>/<platform>/<framework>-<mode>/."""

    results: Path
    operator: str
    platform: str
    framework: str
    mode: str

    @classmethod
    def from_dir(cls, root: Path) -> Campaign:
        """Inverse of `root`. Raises ValueError when the path has no campaign shape."""
        root = Path(root)
        framework, _, mode = root.name.rpartition("-")
        if not framework or mode not in ("leaderboard", "production"):
            raise ValueError(f"{root} is not a campaign directory (<operator>/<platform>/<framework>-<mode>)")
        return cls(root.parent.parent.parent, root.parent.parent.name, root.parent.name, framework, mode)

    @classmethod
    def below(cls, results: Path, operators: Collection[str] = ()) -> list[Campaign]:
        """Campaigns in `results`, of `operators` alone when any are given. Raises InputError without such a directory."""
        if not results.is_dir():
            raise InputError(f"--results {results}: no such directory")
        found = []
        for root in sorted(results.glob("*/*/*-*")):
            with contextlib.suppress(ValueError):
                found.append(cls.from_dir(root))
        return [campaign for campaign in found if not operators or campaign.operator in operators]

    @property
    def root(self) -> Path:
        return self.results / self.operator / self.platform / f"{self.framework}-{self.mode}"

    @property
    def settings(self) -> Path:
        """Settings of the last run of this campaign."""
        return self.root / "settings.yaml"

    @property
    def specs(self) -> Path:
        return self.root / "specs.json"

    @property
    def baseline(self) -> Path:
        return self.root / "baseline"

    @property
    def signatures(self) -> Path:
        return self.root / "signatures.json"

    @property
    def buckets(self) -> Path:
        return self.root / "buckets.json"

    @property
    def dispatcher(self) -> Path:
        return self.root / "dispatcher"

    @property
    def worktrees(self) -> Path:
        return self.root / "worktrees"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def workspace(self) -> Path:
        """The Git workspace, HEAD = incumbent."""
        suffix = "_production" if self.mode == "production" else ""
        return self.root / f"kernel_opt_{self.operator}_{self.framework}_{self.platform}{suffix}"

    def version_dir(self, bucket: str, version: int) -> Path:
        """Folder of one episode, e.g. b00/v001; version 0 is the baseline and has no folder in a bucket."""
        return self.root / bucket / f"v{version:03d}"

    def verdict(self, bucket: str, version: int) -> Path:
        return self.baseline / "verdict.json" if version == 0 else self.version_dir(bucket, version) / "verdict.json"
