"""code_digest: what is in a step's digest, and what is not."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from kernelwright import code_digest, paths
from kernelwright.errors import InputError

STEPS = ("specs", "signatures", "buckets", "profile", "plan", "candidate", "baseline", "verify", "dispatch", "report")
EXTRA = {"plan": ("agents.search",), "candidate": ("agents.search",)}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package: step -> middle (in a function) -> low; other is imported by nobody."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "kernelwright"
    files = {
        "__init__.py": "",
        "step.py": "def main():\n    from kernelwright import middle\n",
        "middle.py": "import kernelwright.low.leaf\n",
        "low/__init__.py": "from . import style\n",
        "low/leaf.py": "TEMPLATE = 'page.j2'\n",
        "low/style.py": "",
        "low/page.j2": "hello",
        "other.py": "from kernelwright import step\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def fresh(root, step="step", extra=()):
    code_digest.digest.cache_clear()
    code_digest._facts.cache_clear()
    code_digest._data_files.cache_clear()
    return code_digest.digest(step, extra, root)


@pytest.mark.parametrize(
    "name", ["step.py", "middle.py", "low/__init__.py", "low/leaf.py", "low/style.py", "low/page.j2"]
)
def test_edit_of_the_closure_changes_the_digest(package, name):
    before = fresh(package)
    (package / name).write_text((package / name).read_text() + "\n# edited\n")
    assert fresh(package) != before


def test_edit_elsewhere_does_not(package):
    before = fresh(package)
    (package / "other.py").write_text("# edited\n")
    assert fresh(package) == before
    assert fresh(package, extra=("other",)) != before


def test_cached_analysis_gives_the_same_digest(package):
    assert fresh(package) == fresh(package)


def test_unknown_module_is_named(package):
    with pytest.raises(InputError, match=r"no module kernelwright\.nothing"):
        fresh(package, extra=("nothing",))


def test_schemas_of_named_kinds_are_in_it():
    names = [path.name for path in code_digest._schemas({"plan", "unrelated"})]
    assert names == ["common.schema.yaml", "handoff.schema.yaml", "plan.schema.yaml", "usage.schema.yaml"]


@pytest.mark.parametrize("step", STEPS)
def test_digest_covers_what_importing_the_step_loads(step):
    """Every module of the package that Python loads for the step is in its closure."""
    script = f"import sys, json, kernelwright.{step}; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(paths.PACKAGE.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = [name.removeprefix("kernelwright.") for name in json.loads(run.stdout) if name.startswith("kernelwright.")]
    given = (*code_digest.EXTRAS.get(step, ()), *EXTRA.get(step, ()))
    modules = [name for extra in given for name in code_digest._submodules(extra, paths.PACKAGE)]
    entry = f"{step}.__main__" if (paths.PACKAGE / step / "__main__.py").is_file() else step
    assert set(loaded) <= set(code_digest.closure([entry, *modules]))


@pytest.mark.parametrize("step", ["baseline", "candidate", "verify", "dispatch"])
def test_digest_covers_the_judge_which_runs_in_other_processes(step):
    modules = [name for extra in code_digest.EXTRAS[step] for name in code_digest._submodules(extra, paths.PACKAGE)]
    found = code_digest.closure([step, *modules])
    judge = [path for path in (paths.PACKAGE / "judge").rglob("*.py") if path.name != "__init__.py"]
    assert judge and set(judge) <= set(found.values())


def test_digest_of_the_search_agent_covers_what_it_loads_by_name():
    own = code_digest.digest("plan", ("agents.search",))
    assert own == code_digest.digest("plan", ("agents.search", "search"))
    assert own != code_digest.digest("plan", ("agents.command",))


def test_policy_of_the_driver_is_in_no_digest():
    for step in STEPS:
        assert "optimize" not in code_digest.closure([step]) and "engine.passes" not in code_digest.closure([step])
