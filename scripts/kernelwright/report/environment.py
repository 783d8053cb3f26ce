"""What the numbers of a report depend on, how to get them again, and the Git workspace's history."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from kernelwright import __version__, paths


def _fact(name: str, value: Any, source: str | None = None) -> dict[str, Any]:
    return {"name": name, "value": None if value is None else str(value), "source": source}


def _number(value: Any) -> str | None:
    if isinstance(value, int | float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return None if value is None else str(value)


def _judge_rows(verdict: Mapping[str, Any]) -> list[dict[str, Any]]:
    settings, isolation, made = verdict["settings"], verdict["isolation"], verdict["provenance"]
    timing = verdict.get("timing") or {}
    return [
        _fact("device of the verdict", made.get("device"), "driver or operating system"),
        _fact("driver", made.get("driver")),
        _fact("torch", made.get("torch")),
        _fact("compiler", made.get("compiler")),
        _fact("verdict reached", made["created_at"]),
        _fact("secret seeds per workload", settings["seeds"]),
        _fact("timed samples per workload and contender", settings["samples"]),
        _fact("confidence of intervals", f"{settings['confidence']:.0%}"),
        _fact("least improvement to accept", f"{settings['min_improvement']:.1%}"),
        _fact("timing method", timing.get("method")),
        *[_fact("timing note", note) for note in timing.get("notes", [])],
        _fact("isolation of the candidate", isolation["level"]),
        _fact("protections this machine could not give", "; ".join(isolation["missing"]) or "none"),
        _fact("compute in the candidate's own kernels", _share(verdict["policy"]["own_share"])),
    ]


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.0%}"


def rows(
    specs: Mapping[str, Any] | None, verdict: Mapping[str, Any] | None, buckets: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Names, values and sources; value None is unknown."""
    found = [_fact("kernelwright", __version__)]
    made = (specs or verdict or buckets or {}).get("provenance", {})
    found += [_fact("python", made.get("python")), _fact("machine", made.get("machine"))]
    if verdict:
        found += _judge_rows(verdict)
    if specs:
        found.append(_fact("digest of the operator", specs["operator"]["directory_digest"][:16], "sha256 of its files"))
        for name, fact in specs["platform"]["facts"].items():
            found.append(_fact(f"platform: {name}", _number(fact["value"]), f"{fact['confidence']}: {fact['source']}"))
    return found


def commands(campaign: paths.Campaign, config: Mapping[str, Any]) -> list[dict[str, str]]:
    """Commands that make this report's numbers again."""
    policy = config["stop"]
    flags = [f"OP={campaign.operator}", f"PLATFORM={campaign.platform}", f"FRAMEWORK={campaign.framework}"]
    flags += [f"MODE={campaign.mode}", f"AGENT={config['agent']}", f"MAX_ITERS={policy['max_iters']}"]
    flags += [f"MAX_STALL={policy['max_stall']}", f"BUCKETS={config['buckets']['max']}"]
    optional = (("TARGET_UTIL", policy["target_utilization"]), ("TOKEN_BUDGET", policy["token_budget"]))
    flags += [f"{name}={value}" for name, value in optional if value is not None]
    flags += [f"RESULTS={campaign.results}", f"CONFIG={campaign.settings}"]  # the file has all other settings
    folder = str(config.get("operator_dir") or f"operators/{campaign.operator}")
    if config.get("operator_dir"):
        flags.append(f"OP_DIR={folder}")
    judge = ["kernelwright", "judge", "--operator", folder, "--candidate", str(campaign.dispatcher / "kernel.py")]
    judge += ["--platform", campaign.platform, "--framework", campaign.framework]
    judge += ["--mode", "production"] if campaign.mode == "production" else []
    report = [
        "kernelwright",
        "report",
        "--campaign",
        str(campaign.root),
        "--output",
        str(campaign.root / "report.html"),
    ]
    return [
        {
            "purpose": "run the campaign (what is done is not done again)",
            "command": shlex.join(["make", "optimize", *flags]),
        },
        {"purpose": "judge the shipped kernel alone, with fresh secret seeds", "command": shlex.join(judge)},
        {"purpose": "render this report", "command": shlex.join(report)},
    ]


def history(campaign: paths.Campaign, limit: int = 200) -> list[dict[str, str]]:
    """Commits of the Git workspace, newest first; [] when there is no workspace."""
    if not (campaign.workspace / ".git").exists():
        return []
    import git

    repository = git.Repo(campaign.workspace)
    try:
        if not repository.head.is_valid():
            return []
        return [
            {
                "commit": commit.hexsha[:10],
                "date": commit.committed_datetime.isoformat(timespec="minutes"),
                "subject": str(commit.summary),
            }
            for commit in repository.iter_commits(max_count=limit)
        ]
    finally:
        repository.close()
