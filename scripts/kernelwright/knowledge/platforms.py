"""Hardware targets: config/platforms/NAME.yaml, one file each, and which of them this machine is.

A fact in a file is `{value, source, confidence, note}`, its source an entry of the file's `sources`; read, it is
`{value, source, confidence}` with the source in words. Null is unknown and stays unknown; the word `measure` is replaced
by a measurement of this machine (calibrate.py), cached per machine. No figure passes from one product to another.
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
# Who may say what: the kinds of source behind each confidence.
SOURCE_KINDS: dict[str, tuple[str, ...]] = {
    "measured": ("measurement",),
    "datasheet": ("vendor",),
    "reported": ("third_party",),
    "derived": ("vendor", "third_party", "measurement"),
}
# The second fact of a pair is never below the first; an equal pair of caches or types is allowed.
NOT_BELOW: tuple[tuple[str, str], ...] = (
    ("peak_bf16_tflops", "peak_bf16_sparse_tflops"),
    ("peak_fp8_tflops", "peak_fp8_sparse_tflops"),
    ("peak_fp4_tflops", "peak_fp4_sparse_tflops"),
    ("peak_tf32_tflops", "peak_bf16_tflops"),
    ("peak_bf16_tflops", "peak_fp16_tflops"),
    ("peak_bf16_tflops", "peak_fp8_tflops"),
    ("peak_fp8_tflops", "peak_fp4_tflops"),
    ("l2_cache_bytes", "last_level_cache_bytes"),
    ("copy_bandwidth_gb_s", "memory_bandwidth_gb_s"),
)


@dataclass(frozen=True)
class Platform:
    name: str
    vendor: str  # cpu, nvidia, amd or ppu
    summary: str
    frameworks: tuple[str, ...]  # in order of preference
    workload_set: str
    facts: dict[str, dict[str, Any]]
    architecture: str
    aliases: tuple[str, ...] = ()
    device_names: tuple[str, ...] = ()  # names that the driver prints, in full
    path: Path | None = field(default=None, compare=False)

    def value(self, fact: str) -> Any:
        """Value of a fact, None when it is unknown or not listed."""
        return self.facts.get(fact, {}).get("value")


def available() -> list[str]:
    return sorted(path.stem for path in paths.platforms_dir().glob("*.yaml"))


def load(name: str) -> Platform:
    """A platform by its exact name or alias, `auto` being this machine's. Raises InputError listing the allowed names."""
    if name == "auto":
        name = detect()
    path = paths.platforms_dir() / f"{name}.yaml"
    if "/" not in name and path.is_file():
        return read(path)
    found = [platform for platform in everyone() if name in platform.aliases]
    if len(found) > 1:
        raise InputError(f"platform {name!r} is an alias of several; allowed: {', '.join(one.name for one in found)}")
    if found:
        return found[0]
    raise InputError(f"platform {name!r} is not known; allowed: auto, {', '.join(available())}")


def everyone() -> list[Platform]:
    return [read(paths.platforms_dir() / f"{name}.yaml") for name in available()]


@functools.cache
def read(path: Path) -> Platform:
    """One platform file, checked against its schema. Raises InputError."""
    body = artifacts.load_yaml(path)
    artifacts.validate(body, "platform", path)
    if body["name"] != path.stem:
        raise InputError(f"{path}: name: {body['name']!r} differs from the file name {path.stem!r}")
    check_sources(body, path)
    check_order(body["facts"], path)
    return Platform(
        name=body["name"],
        vendor=body["vendor"],
        summary=body["summary"],
        frameworks=tuple(body["frameworks"]),
        workload_set=body["workload_set"],
        facts={name: spoken(fact, body["sources"]) for name, fact in body["facts"].items()},
        architecture=body["architecture"],
        aliases=tuple(body.get("aliases", ())),
        device_names=tuple(body.get("device_names", ())),
        path=path,
    )


def check_sources(body: dict[str, Any], path: Path) -> None:
    """Every fact's source is listed, and of a kind that may say it; every listed source is named and can be found."""
    sources, facts = body["sources"], body["facts"]
    for name, fact in facts.items():
        key, confidence = fact.get("source"), fact["confidence"]
        if key is None:
            continue
        if key not in sources:
            raise InputError(f"{path}: facts.{name}.source: {key!r} is not one of {', '.join(sources)}")
        kind, allowed = sources[key]["kind"], SOURCE_KINDS.get(confidence, ())
        if allowed and kind not in allowed:
            raise InputError(
                f"{path}: facts.{name}.confidence: {confidence!r} with source {key!r} of kind {kind!r}; "
                f"allowed kinds: {', '.join(allowed)}"
            )
    for key, source in sources.items():
        if source["kind"] != "measurement" and not {"date", "url"} & set(source):
            raise InputError(f"{path}: sources.{key}: missing key 'date' or 'url'")
        if all(fact.get("source") != key for fact in facts.values()):
            raise InputError(f"{path}: sources.{key}: no fact names it")


def check_order(facts: dict[str, dict[str, Any]], path: Path) -> None:
    """Known figures are positive, `measure` is the one word, and no pair of NOT_BELOW is the wrong way round."""
    for name, fact in facts.items():
        value = fact["value"]
        if isinstance(value, str) and value != MEASURE:
            raise InputError(f"{path}: facts.{name}.value: {value!r}; allowed: a number, null, {MEASURE}")
        if isinstance(value, int | float) and value <= 0:
            raise InputError(f"{path}: facts.{name}.value: {value}; allowed: above 0")
    for low, high in NOT_BELOW:
        least, most = (facts.get(name, {}).get("value") for name in (low, high))
        if isinstance(least, int | float) and isinstance(most, int | float) and most < least:
            raise InputError(f"{path}: facts.{high}.value: {most}; allowed: at least {least}, which is {low}")


def spoken(fact: dict[str, Any], sources: dict[str, Any]) -> dict[str, Any]:
    """A fact as it goes into artifacts, its source in words."""
    source = sources.get(fact.get("source", ""), {})
    where = ", ".join(source[key] for key in ("title", "date", "url") if key in source)
    said = "; ".join(filter(None, [where, fact.get("note")]))
    return {"value": fact["value"], "source": said, "confidence": fact["confidence"]}


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
    """The one platform that lists this name under `device_names`, in full: a part of a name may be a sibling's."""
    wanted = " ".join(device.lower().split())
    found = [one.name for one in everyone() if one.vendor == vendor and wanted in map(str.lower, one.device_names)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"platform auto: {device!r} is listed by several files: {', '.join(found)}; give --platform")
    raise InputError(
        f"platform auto: the driver names {device!r}, which no file in {paths.platforms_dir()} lists under "
        "device_names; add one or give --platform"
    )


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
