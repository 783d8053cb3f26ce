"""C++ for CPUs, compiled when the kernel file is imported and called through ctypes."""

from __future__ import annotations

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from kernelwright.paths import search_path

NAME = "cpp"
VENDORS = ("cpu",)
GUIDANCE = Path(__file__).parent / "guidance" / "cpp.md"

_EXPORTED = re.compile(r'extern\s+"C"\s+[\w\s\*:<>]*?\b(\w+)\s*\(')


def availability() -> tuple[bool, str]:
    """Whether a kernel can be built here: torch, a C++17 compiler and ninja; the sentence says what is missing."""
    if find_spec("torch") is None:
        return False, "torch is missing: pip install torch"
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        return (
            False,
            f"no C++ compiler {compiler!r} on PATH: install g++ (Debian, Ubuntu: apt-get install g++) or set CXX",
        )
    if shutil.which("ninja", path=search_path()) is None:
        return False, "ninja is missing: pip install ninja"
    return True, f"{shutil.which(compiler)}"


def own_kernels(source: str) -> list[str]:
    """Names of the functions a candidate exports from its C++ source."""
    return sorted(set(_EXPORTED.findall(source)))
