"""The command lines that `make` builds, from its own dry run."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from kernelwright import optimize, paths

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is missing: apt install make")


def command(verb: str, *variables: str) -> list[str]:
    """Words after `kernelwright` of the one command that a verb runs."""
    words = ["make", "--dry-run", "--no-print-directory", "--old-file=setup", verb, *variables]
    done = subprocess.run(words, cwd=paths.project_root(), capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.replace("\\\n", " ").splitlines() if "-m kernelwright" in line]
    assert len(lines) == 1
    return shlex.split(lines[0].split("-m kernelwright", 1)[1])


def test_optimize_names_the_operator_and_nothing_else():
    assert command("optimize") == ["optimize", "--operator", "rms_norm", "--results", "results"]
    assert command("optimize", "OP=l2_norm mrope")[1:4] == ["--operator", "l2_norm", "mrope"]
    assert command("optimize", "FRAMEWORK=cpp triton")[3:6] == ["--framework", "cpp", "triton"]


def test_every_variable_reaches_its_setting():
    given = {
        "PLATFORM": "h200", "FRAMEWORK": "triton", "MODE": "production", "MAX_ITERS": "7", "TOKEN_BUDGET": "900",
        "TARGET_UTIL": "0.8", "MAX_STALL": "4", "BUCKETS": "3", "AGENT": "search", "PROFILE": "local", "JOBS": "2",
        "RESULTS": "a folder",
    }  # fmt: skip
    words = command("optimize", *(f"{key}={value}" for key, value in given.items()))
    arguments = optimize.parser().parse_args(words[1:])
    config = optimize.configuration(arguments)
    assert (config["platform"], config["frameworks"], config["mode"]) == ("h200", ["triton"], "production")
    stop = config["stop"]
    assert (stop["max_iters"], stop["token_budget"], stop["target_utilization"], stop["max_stall"]) == (7, 900, 0.8, 4)
    assert (config["buckets"]["max"], config["agent"], config["results"]) == (3, "search", "a folder")
    assert (str(arguments.profile), str(arguments.jobs)) == ("local", "2")


def test_an_operator_folder_replaces_the_name():
    words = command("optimize", "OP_DIR=some where/mine")
    assert words == ["optimize", "--operator-dir", "some where/mine", "--results", "results"]


@pytest.mark.parametrize(
    ("verb", "variables", "words"),
    [
        ("judge", ["CANDIDATE=k.py"], "judge --operator operators/rms_norm --candidate k.py --platform auto"),
        ("report", [], "report all --results results --operator rms_norm"),
        ("watch", ["OP=mrope"], "watch --results results --operator mrope"),
        ("doctor", ["AGENT=claude"], "doctor --agent claude"),
        ("wiki", [], "wiki list"),
        ("calibrate", [], "calibrate --platform auto --again"),
        ("replay", ["VERSION=b00/v001"], "replay b00/v001"),
        ("skill", ["PREFIX=there", "HOOKS_ONLY=1"], "skill install --prefix there --hooks-only"),
    ],
)
def test_other_verbs(verb, variables, words):
    assert command(verb, *variables) == words.split()
