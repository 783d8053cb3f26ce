"""Put the calling process behind walls: own user, mounts, process ids, network, no privileges, bounded resources.

What a machine does not allow is not hidden: `enter` returns it by name, and the verdict shows it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.paths import search_path
from kernelwright.sandbox import linux

KEEP_ENVIRONMENT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDAHOSTCXX",
    "TORCH_CUDA_ARCH_LIST",
    "LIBRARY_PATH",
    "ROCM_PATH",
    "CC",
    "CXX",
    "LD_LIBRARY_PATH",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "GOMP_SPINCOUNT",
    "KERNELWRIGHT_TRITON_BACKEND",
)
FILE_LIMIT_BYTES = 4 << 30
PROCESS_LIMIT = 4096


@dataclass(frozen=True)
class Plan:
    """Where the process may write, and what it must not see."""

    private: str  # an existing folder that becomes its temporary directory, home and compile caches
    hidden: Sequence[str] = ()  # folders that look empty from inside
    build: str | None = (
        None  # a folder that outlives the process, for compile caches; appears as `build_mount(private)`
    )
    bound_memory: bool = True  # an address-space limit; CUDA maps far more than it uses, so not there


def build_mount(private: str) -> str:
    """Where compile caches appear: the same path for every process, for build tools compile again when paths change."""
    return os.path.join(os.path.dirname(private), "build")


def enter(plan: Plan) -> list[str]:
    """Enter the namespaces that can be had. A new process-id namespace holds for the NEXT fork.

    Returns the protections that are missing, by name.
    """
    missing = enter_namespaces()
    if "user and mount namespaces" not in missing:
        missing += arrange_mounts(plan)
    missing += limit(plan)
    return missing


def enter_namespaces() -> list[str]:
    uid, gid = os.getuid(), os.getgid()
    missing = []
    try:
        linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"1000 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"1000 {gid} 1")
    except OSError:
        missing.append("user and mount namespaces")
    for flag, name in (
        (linux.CLONE_NEWNET, "network namespace"),
        (linux.CLONE_NEWIPC, "ipc namespace"),
        (linux.CLONE_NEWPID, "process-id namespace"),
    ):
        try:
            linux.unshare(flag)
        except OSError:
            missing.append(name)
    return missing


def arrange_mounts(plan: Plan) -> list[str]:
    """A writable private folder, everything else read-only, the hidden folders empty."""
    missing = []
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    try:
        linux.set_read_only("/", True)
    except OSError:
        missing.append("read-only file system")
    try:
        linux.mount("none", plan.private, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=0700")
    except OSError:
        missing.append("private temporary folder")
    if plan.build is not None:
        missing += mount_build(plan.private, plan.build)
    return missing + hide(plan)


def mount_build(private: str, build: str) -> list[str]:
    target = build_mount(private)
    try:
        linux.mount(build, target, None, linux.MS_BIND)
        linux.set_read_only(target, False)
    except OSError:
        return ["kept compile cache"]
    return []


def hide(plan: Plan) -> list[str]:
    """Empty read-only folders over those that must not be seen."""
    missing = []
    for folder in plan.hidden:
        if not os.path.isdir(folder) or holds_interpreter(folder) or inside(plan.private, folder):
            continue
        try:
            linux.mount("none", folder, "tmpfs", linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV, "size=4k")
        except OSError:
            missing.append(f"hiding of {folder}")
    return missing


def inside(path: str, folder: str) -> bool:
    return os.path.commonpath([os.path.realpath(path), os.path.realpath(folder)]) == os.path.realpath(folder)


def outermost(folders: Sequence[str], private_root: str) -> list[str]:
    """Folders to hide without those that lie in another that will be hidden, so that one list serves many operators."""
    covering = [
        folder
        for folder in folders
        if os.path.isdir(folder) and not holds_interpreter(folder) and not inside(private_root, folder)
    ]
    return sorted(
        folder for folder in set(folders) if not any(other != folder and inside(folder, other) for other in covering)
    )


def holds_interpreter(folder: str) -> bool:
    """True when hiding `folder` would hide Python or this package itself."""
    needed = [sys.prefix, sys.base_prefix, os.path.dirname(__file__)]
    return any(inside(path, folder) for path in needed)


def mount_proc() -> list[str]:
    """Fresh /proc for the new process-id namespace: the processes outside are no longer listed."""
    try:
        linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    except OSError:
        return ["own /proc"]
    return []


def limit(plan: Plan) -> list[str]:
    """Resource limits; a limit that is lower already stays."""
    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: FILE_LIMIT_BYTES, resource.RLIMIT_NPROC: PROCESS_LIMIT}
    if plan.bound_memory:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        wanted[resource.RLIMIT_AS] = max(32 << 30, 2 * physical)
    missing = []
    for kind, value in wanted.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            missing.append("resource limits")
    return missing


def give_up_privileges() -> list[str]:
    try:
        linux.drop_capabilities()
        linux.prctl(linux.PR_SET_DUMPABLE, 1)  # so that the judge may read the results out of this process
    except (OSError, KeyError):
        return ["dropped capabilities"]
    return []


def environment(private: str, build: str, current: Mapping[str, str]) -> dict[str, str]:
    """The environment of untrusted code: a short list that is kept, and every cache inside `private` or `build`."""
    kept = {name: current[name] for name in KEEP_ENVIRONMENT if name in current}
    kept["PATH"] = search_path(current.get("PATH"))  # a kernel is built with the ninja of these packages
    folders = {
        "TMPDIR": "tmp",
        "HOME": "home",
        "TORCH_EXTENSIONS_DIR": "extensions",
        "TRITON_CACHE_DIR": "triton",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "XDG_CACHE_HOME": "cache",
        "CUDA_CACHE_PATH": "cuda",
    }
    built = ("TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
    for name, folder in folders.items():
        path = os.path.join(build if name in built else private, folder)
        with contextlib.suppress(FileExistsError):
            os.makedirs(path)
        kept[name] = path
    return {**kept, "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "USER": "candidate"}
