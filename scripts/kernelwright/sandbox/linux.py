"""The Linux system calls that Python does not wrap, through libc. Each raises OSError with the call's own errno."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from functools import cache

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
MOUNT_ATTR_RDONLY = 1
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
SYS_MOUNT_SETATTR = 442  # the same number on every architecture since Linux 5.12
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_PERTURB = -1, -3, -6


class MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


class IoVec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


@cache
def libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.process_vm_readv.restype = ctypes.c_ssize_t
    library.process_vm_readv.argtypes = [
        ctypes.c_int,
        ctypes.POINTER(IoVec),
        ctypes.c_ulong,
        ctypes.POINTER(IoVec),
        ctypes.c_ulong,
        ctypes.c_ulong,
    ]
    library.syscall.restype = ctypes.c_long
    return library


def checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    checked(libc().unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int = 0, data: str | None = None) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, data)]
    checked(libc().mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), f"mount {target}")


def set_read_only(target: str, read_only: bool) -> None:
    """Every mount at and under `target` becomes read-only, or writable again, for this mount namespace."""
    attributes = MountAttr(MOUNT_ATTR_RDONLY if read_only else 0, 0 if read_only else MOUNT_ATTR_RDONLY, 0, 0)
    result = libc().syscall(
        ctypes.c_long(SYS_MOUNT_SETATTR),
        ctypes.c_int(AT_FDCWD),
        os.fsencode(target),
        ctypes.c_uint(AT_RECURSIVE),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    checked(result, f"mount_setattr {target}")


def prctl(option: int, value: int) -> None:
    checked(libc().prctl(ctypes.c_int(option), ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")


def die_with_parent(sign: int = signal.SIGKILL) -> None:
    prctl(PR_SET_PDEATHSIG, sign)


def drop_capabilities() -> None:
    """Give up every capability for good, also over later exec calls."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    header = CapHeader(0x20080522, 0)
    empty = (ctypes.c_uint32 * 6)()
    number = SYS_CAPSET[platform.machine()]
    checked(libc().syscall(ctypes.c_long(number), ctypes.byref(header), ctypes.byref(empty)), "capset")


def mallopt(option: int, value: int) -> bool:
    """Set a parameter of glibc's allocator; False where the C library has no mallopt."""
    try:
        return bool(libc().mallopt(ctypes.c_int(option), ctypes.c_int(value)))
    except AttributeError:
        return False


def read_memory(pid: int, address: int, target: int, size: int) -> None:
    """Copy `size` bytes at `address` of another process to `target` in this one. Raises OSError."""
    done = 0
    while done < size:
        here, there = IoVec(target + done, size - done), IoVec(address + done, size - done)
        count = checked(
            libc().process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0), "process_vm_readv"
        )
        if count == 0:
            raise OSError(f"process_vm_readv: only {done} of {size} bytes at {address:#x}")
        done += count
