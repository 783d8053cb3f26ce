"""A card's experiment: two kernels of one operator that differ by the card's technique, and what the judge measured.

experiments/CARD/ of a wiki holds experiment.yaml, one source for both kernels and a result per platform. A C++ source is
put into a wrapper (experiments/wrappers/NAME.py.j2) that loads and calls it; AFTER is 0 for the first kernel, 1 for the
second. In a Python source the line `AFTER = False` becomes `AFTER = True`.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright import artifacts, operators, paths
from kernelwright.errors import InputError, KernelwrightError

USUAL_FLAGS = ("-O3", "-march=native", "-fopenmp")
BEFORE, AFTER = "before", "after"
SWITCH = "AFTER = False\n"
NO_GAIN = 1.1  # a claim of no gain needs an interval that ends below it
LABEL = "before"  # what the judge calls the first kernel


@dataclass(frozen=True)
class Experiment:
    """experiment.yaml of a card and the folder it lies in."""

    card: str
    folder: Path
    facts: Mapping[str, Any]

    @property
    def framework(self) -> str:
        return str(self.facts["framework"])

    @property
    def claim(self) -> str:
        """faster or not_faster."""
        return str(self.facts.get("claim", "faster"))

    @property
    def operator_dir(self) -> Path:
        """The operator's folder: of this wiki, of the project's wiki, or of the project. Raises InputError."""
        name = self.facts["operator"]
        places = [self.folder.parent / "operators", paths.wiki_dir() / "experiments" / "operators"]
        own = next((place / name for place in places if (place / name).is_dir()), None)
        return own or operators.find(name)

    def result_file(self, platform: str) -> Path:
        return self.folder / f"result.{platform}.json"

    def platforms_measured(self) -> list[str]:
        return sorted(path.name.split(".")[1] for path in self.folder.glob("result.*.json"))


def load(wiki: Path, card: str) -> Experiment | None:
    """The experiment of a card, None when it has none. Raises InputError when its files are off."""
    folder = wiki / "experiments" / card
    path = folder / "experiment.yaml"
    if not path.is_file():
        return None
    facts = artifacts.load_yaml(path)
    artifacts.validate(facts, "experiment", path)
    if not (folder / facts["kernel"]).is_file():
        raise InputError(f"{path}: kernel: {facts['kernel']!r}: no such file beside it")
    return Experiment(card, folder, facts)


def everyone(wiki: Path) -> list[Experiment]:
    """All experiments of a wiki, in the order of their cards."""
    found = [load(wiki, path.parent.name) for path in sorted((wiki / "experiments").glob("*/experiment.yaml"))]
    return [experiment for experiment in found if experiment is not None]


def kernel_text(experiment: Experiment, which: str) -> str:
    """One kernel of the pair as a self-contained file. Raises InputError when the switch is missing."""
    path = experiment.folder / experiment.facts["kernel"]
    source = path.read_text()
    if path.suffix == ".py":
        if source.count(SWITCH) != 1:
            raise InputError(
                f"{path}: the line `{SWITCH.strip()}` is expected once, found {source.count(SWITCH)} times"
            )
        return source if which == BEFORE else source.replace(SWITCH, SWITCH.replace("False", "True"))
    flags = experiment.facts.get("flags", {}).get(which, USUAL_FLAGS)
    return wrapped(experiment, f"#define AFTER {int(which == AFTER)}\n{source}", list(flags), which == AFTER)


def pair(experiment: Experiment) -> dict[str, str]:
    """Both kernels as texts. Raises InputError when the switch, the flags and the wrapper leave them equal."""
    source = (experiment.folder / experiment.facts["kernel"]).read_text()
    texts = {which: kernel_text(experiment, which) for which in (BEFORE, AFTER)}
    same = {text.replace("#define AFTER 1\n", "#define AFTER 0\n") for text in texts.values()}
    if len(same) == 1 and "AFTER" not in source:
        raise InputError(f"{experiment.folder / 'experiment.yaml'}: kernel: both kernels are equal; AFTER is not used")
    return texts


def wrapped(experiment: Experiment, source: str, flags: list[str], after: bool) -> str:
    """A C++ source in its wrapper."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    name = experiment.facts.get("wrapper", experiment.facts["operator"])
    folders = [experiment.folder.parent / "wrappers", paths.wiki_dir() / "experiments" / "wrappers"]
    if not any((folder / f"{name}.py.j2").is_file() for folder in folders):
        known = sorted(path.name.split(".")[0] for path in folders[-1].glob("*.py.j2"))
        raise InputError(
            f"{experiment.folder / 'experiment.yaml'}: wrapper: {name!r}: no such file; allowed: {', '.join(known)}"
        )
    environment = Environment(
        loader=FileSystemLoader(folders), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    text: str = environment.get_template(f"{name}.py.j2").render(source=source, flags=flags, after=after)
    return text


def digests(experiment: Experiment) -> dict[str, str]:
    """What a result holds for."""
    sums = {which: hashlib.sha256(text.encode()).hexdigest() for which, text in pair(experiment).items()}
    return {**sums, "operator": operators.load(experiment.operator_dir).digest()}


def run(experiment: Experiment, platform: str, seeds: int, samples: int) -> dict[str, Any]:
    """Judge the pair on a platform; body of the result with `facts` for its provenance."""
    from kernelwright.judge import client
    from kernelwright.judge.request import JudgeRequest

    with tempfile.TemporaryDirectory(prefix="kernelwright-experiment-") as folder:
        files = {which: Path(folder) / which / "kernel.py" for which in (BEFORE, AFTER)}
        for which, text in pair(experiment).items():
            artifacts.write_text(files[which], text)
        workloads = experiment.facts.get("workloads")
        request = JudgeRequest(
            operator_dir=str(experiment.operator_dir.resolve()),
            candidate=str(files[AFTER]),
            against=str(files[BEFORE]),
            against_label=LABEL,
            platform=platform,
            framework=experiment.framework,
            workloads=tuple(workloads) if workloads else None,
            contenders=(),
            seeds=seeds,
            samples=samples,
        )
        try:
            verdict = client.evaluate(request)
        except KernelwrightError as error:
            verdict = {"status": "failed", "reason": None, "sentence": str(error), "timing": None, "facts": {},
                       "settings": {"seeds": seeds, "samples": samples, "min_improvement": request.min_improvement,
                                    "confidence": request.confidence}, "duration_s": 0.0}  # fmt: skip
    return summary(experiment, platform, verdict)


def summary(experiment: Experiment, platform: str, verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Body of experiment_result from a verdict."""
    timing = verdict["timing"] or {"workloads": {}, "geomean": {}}
    credible = verdict["status"] == "accepted" or verdict["reason"] == "not_faster"
    effect = timing["geomean"].get(LABEL) if credible else None
    workloads = {
        key: {
            "before_us": row["contenders"][LABEL]["median_us"],
            "after_us": row["candidate"]["median_us"],
            "effect": row["speedup"][LABEL],
        }
        for key, row in timing["workloads"].items()
        if credible
    }
    return {
        "card": experiment.card,
        "platform": platform,
        "device": verdict["facts"].get("device"),
        "status": status_of(experiment.claim, verdict["status"] == "accepted", effect),
        "sentence": verdict["sentence"],
        "effect": effect,
        "workloads": workloads,
        "kernels": digests(experiment),
        "settings": dict(verdict["settings"]),
        "duration_s": verdict["duration_s"],
        "facts": verdict["facts"],
    }


def status_of(claim: str, accepted: bool, effect: Mapping[str, float] | None) -> str:
    """holds, gone or broken: whether the verdict is what the experiment claims."""
    if effect is None:
        return "broken"
    if claim == "faster":
        return "holds" if accepted else "gone"
    return "holds" if not accepted and effect["high"] <= NO_GAIN else "gone"


def measure(experiment: Experiment, platform: str, seeds: int, samples: int) -> dict[str, Any]:
    """Run an experiment and write its result."""
    body = run(experiment, platform, seeds, samples)
    facts = body.pop("facts")
    return artifacts.write(experiment.result_file(platform), "experiment_result", body, platform=platform, **facts)


def state(experiment: Experiment | None, platform: str) -> tuple[str, dict[str, Any] | None]:
    """(none, unmeasured, stale, holds, gone or broken; the result). A stale result is of other kernels."""
    if experiment is None:
        return "none", None
    path = experiment.result_file(platform)
    if not path.is_file():
        return "unmeasured", None
    result = artifacts.read(path, "experiment_result")
    return (str(result["status"]) if result["kernels"] == digests(experiment) else "stale"), result
