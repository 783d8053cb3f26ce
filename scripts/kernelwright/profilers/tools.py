"""Run a vendor's tool: its output in a file, its failure in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kernelwright.errors import KernelwrightError
from kernelwright.paths import search_path


def found(name: str, *places: str) -> str | None:
    """Path of a program: on PATH, else one of the usual places."""
    return shutil.which(name) or next((path for path in places if Path(path).is_file()), None)


def run(command: Sequence[str], folder: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """A finished process. Raises KernelwrightError with the tool's last line when it fails or takes too long."""
    name = Path(command[0]).name
    # one folder of built extensions for all passes of a tool, so that the kernel compiles once
    environment = {**os.environ, "PATH": search_path(), "TORCH_EXTENSIONS_DIR": str(folder / "extensions")}
    try:
        done = subprocess.run(
            list(command), capture_output=True, text=True, timeout=timeout_s, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        raise KernelwrightError(f"{name} took longer than {timeout_s:.0f} s") from None
    except OSError as error:
        raise KernelwrightError(f"{name} does not start ({error})") from None
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()] or ["no message"]
        marked = [line for line in lines if "==ERROR==" in line]
        raise KernelwrightError(f"{name} failed with exit code {done.returncode}: {(marked or lines)[-1].strip()}")
    return done
