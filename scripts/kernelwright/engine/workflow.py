"""Snakemake as a child of the driver: it dies with it and logs through kernelwright.engine.progress."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kernelwright import cli


def allow_no_rate_limit() -> None:
    """Let `--max-jobs-per-timespan 0/1s` mean no limit.

    Snakemake 9.27 always limits submissions, and each scheduling round under a limit starts a timer whose end is
    another round: their number grows without bound, and a long run on this machine alone spends its time in them.
    """
    from snakemake.settings.types import MaxJobsPerTimespan

    MaxJobsPerTimespan.__bool__ = lambda self: self.max_jobs > 0  # type: ignore[attr-defined]


def main(argv: Sequence[str] | None = None) -> int:
    """Run Snakemake's command line with `argv`."""
    cli.die_with_parent()
    from snakemake.cli import main as snakemake
    from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

    from kernelwright.engine import progress

    allow_no_rate_limit()
    LoggerPluginRegistry().register_plugin("snakemake_logger_plugin_kernelwright", progress)
    words = list(sys.argv[1:] if argv is None else argv)
    snakemake([*words, "--logger", "kernelwright"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
