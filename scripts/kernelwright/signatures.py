"""Step `signatures`: what a dispatcher may see of each workload at run time without synchronising."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts, operators
from kernelwright.cli import step
from kernelwright.operators import inspection
from kernelwright.operators.model import Operator


def collect(operator: Operator, workload_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Signature per workload id. The operator's code runs in a child process. Raises InputError."""
    found = inspection.in_child(operator, workload_ids)
    return {
        key: {
            "init": operator.workload(key).init_kwargs,
            "args": found[key]["args"],
            "input_bytes": found[key]["input_bytes"],
        }
        for key in workload_ids
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright.signatures", description=__doc__)
    parser.add_argument("--specs", type=Path, required=True)
    parser.add_argument("--operator-dir", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    specs = artifacts.read(arguments.specs, "specs")
    operator = operators.load(arguments.operator_dir)
    body = {"workloads": collect(operator, list(specs["workloads"]))}
    parents = {arguments.specs.name: artifacts.sha256_file(arguments.specs)}
    artifacts.write(arguments.output, "signatures", body, parents=parents, platform=specs["platform"]["name"])
    return 0


main = step(main)

if __name__ == "__main__":
    sys.exit(main())
