"""Builds and loads native.cpp: once per text and machine, into the user's cache."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from ctypes import POINTER, c_int, c_int64, c_size_t, c_uint64, c_void_p
from functools import cache
from pathlib import Path

from kernelwright.errors import InputError

SOURCE = Path(__file__).with_name("native.cpp")


@cache
def path() -> str:
    """The built library. Raises InputError where there is no C++ compiler."""
    text = SOURCE.read_bytes()
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernelwright"
    target = home / f"native-{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not target.exists():
        compiler = shutil.which(os.environ.get("CXX", "g++"))
        if compiler is None:
            raise InputError("judging on a GPU needs a C++ compiler: g++ is not on the PATH and CXX names none")
        home.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}")
        command = [compiler, "-O2", "-std=c++17", "-shared", "-fPIC", str(SOURCE), "-o", str(partial)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InputError(f"{SOURCE} does not build with {compiler}: {done.stderr.strip()[:300]}")
        partial.replace(target)
    return str(target)


def load(built: str) -> ctypes.CDLL:
    """The library with argument types set."""
    library = ctypes.CDLL(built)
    library.heap_open.argtypes, library.heap_open.restype = [c_uint64, c_uint64, c_void_p], None
    library.heap_poison.argtypes, library.heap_poison.restype = [c_int], None
    library.heap_made.argtypes, library.heap_made.restype = [POINTER(c_uint64), c_size_t], c_size_t
    library.heap_most.argtypes, library.heap_most.restype = [], c_uint64
    library.watch.argtypes = [c_void_p, c_void_p, c_int, POINTER(c_int64), c_int64]
    library.watch.restype = c_int
    return library
