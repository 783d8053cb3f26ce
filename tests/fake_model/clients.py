"""The coding CLIs with pinned versions, and the settings that lead each to a fake model server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGES = {
    "claude": "@anthropic-ai/claude-code@2.1.332",
    "codex": "@openai/codex@0.171.0",
    "pi": "@earendil-works/pi-coding-agent@0.74.2",
    "qodercli": "@qoder-ai/qodercli@1.1.52",
}
FOLDER = "KERNELWRIGHT_TEST_CLIS"  # a folder where they are already, or are kept for the next time


def folder(tmp_path_factory: Any) -> Path:
    """Where the CLIs are or will be installed, one place for a whole run of the tests."""
    import pytest

    given = os.environ.get(FOLDER)
    if not given and shutil.which("npm") is None:
        pytest.skip("the coding CLIs are not here, and npm is not either")
    root = tmp_path_factory.getbasetemp().parent if not given else Path(given)
    return root if given else root / "clis"


def ready(name: str, root: Path) -> None:
    """Skip the test when CLI `name` cannot be had."""
    import pytest

    if name == "api":
        pytest.importorskip("openai")
    else:
        installed(name, root)


def installed(name: str, folder: Path) -> Path:
    """Folder with the program of CLI `name`, installed by npm below `folder` if it is not there."""
    root = folder / name
    programs = root / "node_modules" / ".bin"
    if not (programs / name).exists():
        root.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel", "error", PACKAGES[name]]
        subprocess.run(command, cwd=root, check=True, timeout=280)
    return programs


def settings(name: str, url: str, home: Path, retries: int = 0) -> dict[str, Any]:
    """Session settings of a CLI for the server at `url`; files that it needs are written below `home`.

    `retries` are the CLI's own, where it has a knob.
    """
    home.mkdir(parents=True, exist_ok=True)
    env = {"HOME": str(home)}
    if name == "claude":
        env |= {"ANTHROPIC_API_KEY": "secret-anthropic", "ANTHROPIC_BASE_URL": url}
        return {"env": {**env, "CLAUDE_CODE_MAX_RETRIES": str(retries)}}
    if name == "codex":
        (home / ".codex").mkdir(exist_ok=True)
        provider = {"name": '"fake"', "base_url": f'"{url}/v1"', "wire_api": '"responses"', "env_key": '"FAKE_API_KEY"',
                    "request_max_retries": retries, "stream_max_retries": retries}  # fmt: skip
        args = ["-c", "model_provider=fake"]
        for key, value in provider.items():
            args += ["-c", f"model_providers.fake.{key}={value}"]
        return {"model": "fake", "args": args, "env": {**env, "FAKE_API_KEY": "secret-openai"}}
    if name == "pi":
        write_pi_models(home, url)
        retry = {"enabled": retries > 0, "maxRetries": retries, "baseDelayMs": 100}
        (home / ".pi" / "agent" / "settings.json").write_text(json.dumps({"retry": retry}))
        return {"model": "fake", "provider": "fake", "env": {**env, "FAKE_API_KEY": "secret-pi", "PI_OFFLINE": "1"}}
    if name == "api":
        return {
            "model": "fake",
            "provider": "openai",
            "base_url": f"{url}/v1",
            "env": {"OPENAI_API_KEY": "secret-openai"},
        }
    raise ValueError(name)


def write_pi_models(home: Path, url: str, api: str = "anthropic-messages") -> None:
    """~/.pi/agent/models.json with one model behind `url`."""
    cost = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1}
    model = {"id": "fake", "name": "Fake", "contextWindow": 200000, "maxTokens": 4096, "cost": cost}
    base = url if api == "anthropic-messages" else f"{url}/v1"
    provider = {"baseUrl": base, "api": api, "apiKey": "FAKE_API_KEY", "models": [model]}
    (home / ".pi" / "agent").mkdir(parents=True, exist_ok=True)
    (home / ".pi" / "agent" / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))


def variables(name: str, url: str, home: Path, clis: Path, **more: Any) -> dict[str, str]:
    """Environment of a supervisor that is to run CLI `name` against `url`."""
    ready(name, clis)
    given = settings(name, url, home, **more)
    path = [str(Path(sys.executable).parent), os.environ["PATH"]]
    if name in PACKAGES:
        path.insert(0, str(installed(name, clis)))
    return {f"KERNELWRIGHT_{name.upper()}_SESSION_SETTINGS": json.dumps(given), "PATH": os.pathsep.join(path)}
