"""From a campaign's artifacts to a judge's request, and from its answer to the body of verdict.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SETTINGS = ("seeds", "samples", "min_improvement", "confidence")


def settings(config: Mapping[str, Any], seeds: int | None = None) -> dict[str, Any]:
    """The judge's settings as a verdict records them."""
    found = {name: config["judge"][name] for name in SETTINGS}
    return found if seeds is None else {**found, "seeds": seeds}


def request(
    specs: Mapping[str, Any],
    config: Mapping[str, Any],
    operator_dir: Path,
    candidate: Path,
    workloads: Sequence[str],
    against: Path | None = None,
    contenders: tuple[str, ...] = (),
    depth: str = "full",
    seeds: int | None = None,
) -> Any:
    """A JudgeRequest for `candidate` on `workloads`, with the floors (microseconds) and peak of specs.json."""
    from kernelwright.judge.request import JudgeRequest

    judge = config["judge"]
    bandwidth = specs["platform"]["facts"].get("memory_bandwidth_gb_s", {}).get("value")
    return JudgeRequest(
        operator_dir=str(Path(operator_dir).absolute()),
        candidate=str(Path(candidate).absolute()),
        platform=specs["platform"]["name"],
        framework=specs["framework"],
        mode=specs["mode"],
        workloads=tuple(workloads),
        against=str(against.absolute()) if against else None,
        contenders=contenders,
        depth=depth,
        call_timeout_s=judge["call_timeout_s"],
        compile_timeout_s=judge["compile_timeout_s"],
        floors_us={name: specs["workloads"][name]["floor"]["floor_us"] for name in workloads},
        peak_bandwidth_gb_s=bandwidth if isinstance(bandwidth, int | float) else None,
        **settings(config, seeds),
    )


def evaluate(request: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(body of verdict.json, facts for its provenance) of one judge run."""
    from kernelwright.judge import client

    body = client.evaluate(request)
    return body, body.pop("facts", {})


def prepare() -> None:
    """Start the judge of this process when the run has no server."""
    import os

    from kernelwright.judge import client

    channel = client.connect(os.environ.get(client.SOCKET_VARIABLE))
    if channel is None:
        client.local_service()
    else:
        channel.close()
