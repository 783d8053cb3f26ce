"""Hardware targets: config/platforms/NAME.yaml, one file each, and which of them this machine is.

A fact is `{value, source, confidence}`. Null is unknown and stays unknown; the word `measure` is replaced by a
measurement of this machine (calibrate.py), cached per machine.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright import artifacts, paths
from kernelwright.errors import InputError

MEASURE = "measure"
TOOL_TIMEOUT_S = 10


@dataclass(frozen=True)
class Platform:
    name: str
    vendor: str  # cpu, nvidia, amd or ppu
    summary: str
    frameworks: tuple[str, ...]  # in order of preference
    workload_set: str
    facts: dict[str, dict[str, Any]]
    aliases: tuple[str, ...] = ()
    device_names: tuple[str, ...] = ()  # parts of the name that the driver prints
    path: Path | None = field(default=None, compare=False)

    def value(self, fact: str) -> Any:
        """Value of a fact, None when it is unknown or not listed."""
        return self.facts.get(fact, {}).get("value")


def available() -> list[str]:
    return sorted(path.stem for path in paths.platforms_dir().glob("*.yaml"))


def load(name: str) -> Platform:
    """A platform by name or alias. `auto` is the one of this machine. Raises InputError listing the allowed names."""
    if name == "auto":
        name = detect()
    path = paths.platforms_dir() / f"{name}.yaml"
    if "/" not in name and path.is_file():
        return read(path)
    for other in available():
        platform = read(paths.platforms_dir() / f"{other}.yaml")
        if name in platform.aliases:
            return platform
    raise InputError(f"platform {name!r} is not known; allowed: auto, {', '.join(available())}")


@functools.cache
def read(path: Path) -> Platform:
    """One platform file, checked against its schema. Raises InputError."""
    body = artifacts.load_yaml(path)
    artifacts.validate(body, "platform", path)
    if body["name"] != path.stem:
        raise InputError(f"{path}: name: {body['name']!r} differs from the file name {path.stem!r}")
    return Platform(
        name=body["name"],
        vendor=body["vendor"],
        summary=body["summary"],
        frameworks=tuple(body["frameworks"]),
        workload_set=body["workload_set"],
        facts=body["facts"],
        aliases=tuple(body.get("aliases", ())),
        device_names=tuple(body.get("device_names", ())),
        path=path,
    )


def detect() -> str:
    """Platform of this machine: the accelerator its driver names, else `cpu`.

    Raises InputError when a driver names an accelerator that no platform file knows: a wrong target would give
    wrong floors.
    """
    for vendor, devices in (("nvidia", nvidia_devices()), ("amd", amd_devices())):
        if devices:
            return match_device(devices[0], vendor)
    return "cpu"


def match_device(device: str, vendor: str) -> str:
    """The platform whose longest `device_names` entry is in the driver's name."""
    found: list[tuple[int, str]] = []
    for name in available():
        platform = read(paths.platforms_dir() / f"{name}.yaml")
        if platform.vendor == vendor:
            found += [(len(part), name) for part in platform.device_names if part.lower() in device.lower()]
    if not found:
        raise InputError(
            f"platform auto: the driver names {device!r}, which no file in {paths.platforms_dir()} lists under "
            "device_names; add one or give --platform"
        )
    return max(found)[1]


def nvidia_devices() -> list[str]:
    """GPU names as nvidia-smi prints them; empty without a driver."""
    return tool_lines(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])


def amd_devices() -> list[str]:
    """GPU names as ROCm's tools print them; empty without a driver."""
    lines = tool_lines(["rocminfo"])
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("Marketing Name:")]
    return [name for name in names if "instinct" in name.lower() or "radeon" in name.lower()]


def tool_lines(argv: list[str]) -> list[str]:
    if shutil.which(argv[0]) is None:
        return []
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()] if done.returncode == 0 else []


def device_name(platform: Platform) -> str | None:
    """Name of this machine's device of the platform's vendor; None when it has none."""
    if platform.vendor == "cpu":
        return cpu_name()
    devices = {"nvidia": nvidia_devices, "amd": amd_devices}.get(platform.vendor, list)()
    return devices[0] if devices else None


def cpu_name() -> str | None:
    """Model name of the processor, from /proc/cpuinfo on Linux."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    import platform as host

    return host.processor() or None


def resolve_facts(platform: Platform, cache_dir: Path | None = None) -> dict[str, dict[str, Any]]:
    """Facts with every `measure` replaced by this machine's measurement; a fact that cannot be measured is unknown."""
    if not any(fact["value"] == MEASURE for fact in platform.facts.values()):
        return {name: dict(fact) for name, fact in platform.facts.items()}
    from kernelwright.knowledge import calibrate

    measured = calibrate.facts(cache_dir)
    unknown = {"value": None, "source": "calibration of this machine does not give it", "confidence": "unknown"}
    return {
        name: dict(measured.get(name, unknown)) if fact["value"] == MEASURE else dict(fact)
        for name, fact in platform.facts.items()
    }


def frameworks_available(platform: Platform) -> list[str]:
    """The platform's frameworks that are installed here, in its order of preference."""
    from kernelwright import frameworks

    return [name for name in platform.frameworks if framework_ready(frameworks, name)]


def framework_ready(frameworks: Any, name: str) -> bool:
    """True when the framework has a module and says it can be used here; a framework without a module cannot."""
    try:
        framework = frameworks.get(name)
    except InputError:
        return False
    found = framework.availability()
    return bool(found[0] if isinstance(found, tuple) else getattr(found, "available", found))
