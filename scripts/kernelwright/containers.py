"""Build the images under containers/ with what is there: the Docker engine, podman or buildah."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kernelwright import cli, paths
from kernelwright.errors import InputError, KernelwrightError


def images() -> list[str]:
    """Names of the recipes: the folders under containers/ with a Dockerfile."""
    return sorted(path.parent.name for path in (paths.project_root() / "containers").glob("*/Dockerfile"))


def build_with_docker(dockerfile: Path, tag: str, build_args: dict[str, str]) -> bool:
    """Build through the Docker engine; False when no engine answers."""
    import docker

    try:
        client = docker.from_env()
        client.ping()
    except docker.errors.DockerException:
        return False
    root = paths.project_root()
    lines = client.api.build(
        path=str(root),
        dockerfile=str(dockerfile.relative_to(root)),
        tag=tag,
        buildargs=build_args,
        decode=True,
        rm=True,
    )
    for line in lines:
        if "error" in line:
            raise KernelwrightError(f"docker build of {dockerfile}: {line['error'].strip()}")
        print(line.get("stream", ""), end="", flush=True)
    return True


def build_with_command(dockerfile: Path, tag: str, build_args: dict[str, str]) -> bool:
    """Build with podman or buildah, whichever is on PATH; False when neither is."""
    program = shutil.which("podman") or shutil.which("buildah")
    if program is None:
        return False
    arguments = [part for name, value in build_args.items() for part in ("--build-arg", f"{name}={value}")]
    command = [program, "build", "-f", str(dockerfile), "-t", tag, *arguments, str(paths.project_root())]
    if subprocess.run(command, check=False).returncode:
        raise KernelwrightError(f"{Path(program).name} could not build {dockerfile}; its output is above")
    return True


@cli.guarded
def main(argv: Sequence[str] | None = None) -> int:
    """Build one image. Raises InputError when the recipe is unknown or no builder is there."""
    parser = argparse.ArgumentParser(prog="python -m kernelwright.containers", description=__doc__)
    parser.add_argument("--image", default="cpu")
    options = parser.parse_args(argv)
    if options.image not in images():
        raise InputError(f"--image: {options.image!r} is not one of {', '.join(images())}")
    dockerfile = paths.project_root() / "containers" / options.image / "Dockerfile"
    names = ("BASE", "TORCH_INDEX_URL")
    build_args = {name: os.environ[name] for name in names if os.environ.get(name)}
    tag = f"kernelwright-{options.image}"
    if build_with_docker(dockerfile, tag, build_args) or build_with_command(dockerfile, tag, build_args):
        print(f"built {tag}")
        return 0
    raise InputError("no Docker engine answers and neither podman nor buildah is on PATH; apt-get install podman")


if __name__ == "__main__":
    sys.exit(main())
