"""The one place that knows which devices this judge can measure on, and how a measurement keeps one to itself."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.errors import InputError


@dataclass(frozen=True)
class Device:
    """Where a platform's kernels run here."""

    name: str  # as torch names it
    bound_memory: bool  # an address-space limit is possible
    workload_set: str


def resolve(platform: str) -> Device:
    """The device of a platform on this machine. Raises InputError naming what is missing."""
    from kernelwright.knowledge import platforms

    target = platforms.load(platform)
    if target.vendor == "cpu":
        return Device("cpu", True, target.workload_set)
    reason = missing(target.vendor, target.device_names)
    if reason is None:
        return Device("cuda", False, target.workload_set)
    raise InputError(f"platform {platform}: {reason}; platforms that can be judged here: cpu")


def missing(vendor: str, names: tuple[str, ...]) -> str | None:
    """Why the devices of a vendor with these names cannot be used by this process; None when they can."""
    node = {"nvidia": "/dev/nvidiactl", "amd": "/dev/kfd"}.get(vendor)
    if node is not None and not Path(node).exists():
        return f"no {vendor} device on this machine ({node} is missing)"
    if vendor != "nvidia":
        return f"this judge has no transport for {vendor} devices"
    import torch

    if not torch.cuda.is_available():
        return "torch sees no CUDA device"
    found = torch.cuda.get_device_name(0)
    if names and found not in names:
        return f"the GPU here is {found}, the platform is {' or '.join(names)}"
    return None


def lock(device: Device) -> Any:
    """A lock between processes: one measurement per device and machine at a time."""
    from filelock import FileLock

    folder = Path(tempfile.gettempdir()) / f"kernelwright-locks-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return FileLock(folder / f"{device.name.replace(':', '-')}.lock")


def busy() -> str | None:
    """A note where more wants to run than there are cores, the judge's own work aside; None where not."""
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    if load <= cores:
        return None
    return f"the machine was busy: load {load:.1f} on {cores} core{'s' * (cores > 1)}; intervals may be too narrow"


def facts(device: Device) -> dict[str, Any]:
    """Provenance of a measurement: device, driver, torch, compiler."""
    import shutil
    import subprocess

    import torch

    from kernelwright.judge import transport

    compiler = shutil.which(os.environ.get("CXX", "g++"))
    line = None
    if compiler:
        line = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[
            :1
        ]
    means = transport.of(device.name)
    return {**means.facts(), "torch": torch.__version__, "compiler": line[0] if line else None}


def cpu_name() -> str | None:
    """The processor as /proc/cpuinfo names it, with the number of cores this process may use."""
    cores = len(os.sched_getaffinity(0))
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
    return f"{model} ({cores} cores)" if model else None
