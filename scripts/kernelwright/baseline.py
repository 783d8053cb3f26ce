"""Step `baseline`: V0, the reference as a self-contained kernel file, judged against eager and compiled PyTorch."""

from __future__ import annotations

import argparse
import dataclasses
import io
import sys
import tokenize
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli, judging, operators
from kernelwright.errors import KernelwrightError

HEADER = "# V0: the reference of operator {name}, unchanged; every later version has to beat it.\n"


class BaselineRefused(KernelwrightError):
    """The reference does not pass its own judge: the operator is no valid problem here."""


def renamed(source: str, old: str, new: str) -> str:
    """`source` with every name token `old` as `new`; text in strings and comments stays."""
    lines = source.splitlines(keepends=True)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == tokenize.NAME]
    for token in reversed([token for token in tokens if token.string == old]):
        row, column = token.start
        line = lines[row - 1]
        lines[row - 1] = line[:column] + new + line[column + len(old) :]
    return "".join(lines)


def kernel_source(operator: operators.Operator) -> str:
    """The reference as a candidate: its own source, under the name that a candidate must define."""
    if operator.layout == "sol_execbench":
        source = operator.details["reference"]
    elif operator.layout == "kernelbench":
        source = renamed(operator.source.read_text(), operator.reference_name, operator.candidate_name)
    else:
        source = (operator.directory / "reference.py").read_text()
    header = HEADER.format(name=operator.name)
    return header + source if source.endswith("\n") else header + source + "\n"


def judge(specs: dict[str, Any], config: dict[str, Any], operator_dir: Path, kernel: Path) -> tuple[dict, dict]:
    """Verdict body and facts of V0 over all workloads of the platform.

    Always with libraries allowed: the reference is made of them, and what ships is judged in the campaign's own mode.
    """
    contenders = ("reference", "compiled")
    request = judging.request(specs, config, operator_dir, kernel, list(specs["workloads"]), contenders=contenders)
    return judging.evaluate(dataclasses.replace(request, mode="leaderboard"))


def main(argv: list[str] | None = None) -> int:
    """Write baseline/kernel.py and baseline/verdict.json."""
    flags = argparse.ArgumentParser(prog="kernelwright.baseline", description=__doc__)
    for name in ("specs", "operator-dir", "config", "output-dir"):
        flags.add_argument(f"--{name}", type=Path, required=True)
    arguments = flags.parse_args(argv)
    specs = artifacts.read(arguments.specs, "specs")
    config = artifacts.load_yaml(arguments.config)
    kernel = arguments.output_dir / "kernel.py"
    artifacts.write_text(kernel, kernel_source(operators.load(arguments.operator_dir)))
    body, facts = judge(specs, config, arguments.operator_dir, kernel)
    sha256 = artifacts.sha256_file(kernel)
    body["kernel"] = {"path": "baseline/kernel.py", "sha256": sha256}
    body["scope"] = {**body["scope"], "version": 0}
    body["incumbent"] = {"version": 0, "kernel_path": "baseline/kernel.py", "kernel_sha256": sha256}
    parents = {"specs.json": artifacts.sha256_file(arguments.specs)}
    verdict = arguments.output_dir / "verdict.json"
    if body["status"] != "accepted":
        # Beside the output, not as the output: the job fails, and a failed job's outputs are removed.
        verdict = arguments.output_dir / "refused.json"
    platform = specs["platform"]["name"]
    artifacts.write(verdict, "verdict", body, parents=parents, kernel_sha256=sha256, platform=platform, **facts)
    print(body["sentence"])
    if body["status"] != "accepted":
        raise BaselineRefused(f"the reference of {specs['operator']['name']} is {body['reason']}: {body['sentence']}")
    return 0


main = cli.step(main)  # type: ignore[assignment]

if __name__ == "__main__":
    sys.exit(main())
