"""`kernelwright calibrate`: measure what a platform reaches on this machine, once, and show it.

The artifact lies in the user's cache. Specs read it for the calibrated floor, which stands beside the datasheet's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright import artifacts, cli
from kernelwright.errors import InputError
from kernelwright.knowledge import calibrate, calibrate_device, platforms

KINDS = {"cpu": "calibration"}  # else device_calibration


def path_of(platform: platforms.Platform) -> Path:
    """Where the calibration of a platform on this machine is kept. Raises InputError without such a device."""
    if platform.vendor == "cpu":
        return calibrate.cache_dir() / f"calibration-{calibrate.host_facts()['digest']}.json"
    return calibrate_device.file_of(calibrate.cache_dir(), calibrate_device.host_facts(platform))


def known(platform: platforms.Platform) -> dict[str, dict[str, Any]]:
    """Facts that a calibration of an accelerator has left here; empty without one. A CPU's are its platform facts."""
    if platform.vendor == "cpu":
        return {}
    try:
        path = path_of(platform)
    except InputError:  # another machine's platform: nothing of it was measured here
        return {}
    found: dict[str, dict[str, Any]] = artifacts.read(path, "device_calibration")["facts"] if path.is_file() else {}
    return found


def run(platform: platforms.Platform, again: bool) -> tuple[Path, dict[str, Any]]:
    """(file, calibration), measured when there is none or `again`. Raises KernelwrightError."""
    path = path_of(platform)
    if again or not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        if platform.vendor == "cpu":
            calibrate.measure_in_child(path)
        else:
            calibrate_device.measure_in_child(platform.name, path)
    return path, artifacts.read(path, KINDS.get(platform.vendor, "device_calibration"))


def table(record: Mapping[str, Any]) -> str:
    """The facts, one a line."""
    lines = [
        f"{name:<30} {'unknown' if fact['value'] is None else format(fact['value'], 'g'):>12}  {fact['source']}"
        for name, fact in record["facts"].items()
    ]
    lines += [f"copy of {row['bytes']:>11} bytes {row['gb_s']:>19g} GB/s" for row in record.get("copy_by_size", [])]
    return "\n".join(lines)


@cli.guarded
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kernelwright calibrate", description=__doc__)
    parser.add_argument("--platform", default="auto", help="default: this machine's")
    parser.add_argument("--again", action="store_true", help="measure although there is a calibration")
    parser.add_argument("--output", type=Path, help="also write the artifact there")
    arguments = parser.parse_args(argv)
    path, record = run(platforms.load(arguments.platform), arguments.again)
    print(f"{path}\n{table(record)}")
    if arguments.output:
        artifacts.write_bytes(arguments.output, path.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
