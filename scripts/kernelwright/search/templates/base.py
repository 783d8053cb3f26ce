"""What a template is told and what it must offer. A template serves operators by family and roles, never by name."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

SOURCE = Path(__file__).resolve().parent / "source"

FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp", "-fno-math-errno", "-fno-trapping-math")

CPP_TYPES = {"bfloat16": "kw::bf16", "float16": "kw::f16", "float32": "float"}

# Parameters every C++ template has; the first value is the default.
# A fork and join of an OpenMP team costs 5 to 10 us, the time one core needs for about 128 kB of traffic.
COMMON_SPACE: dict[str, tuple[Any, ...]] = {
    "parallel_bytes": (131072, 32768, 65536, 262144, 524288),
    "huge_pages": (True, False),
    "stream": (False, True),
    "unroll": (4, 1, 2, 8),
    "chunk": (0, 4, 32),
}


@dataclass(frozen=True)
class Facts:
    """What was seen of an operator by running its reference in a child (search/recognise.py). All values are JSON."""

    operator: str
    family: str | None
    layout: str
    entry: str  # name of the candidate's class or function
    init: tuple[tuple[str, str | None], ...]  # constructor parameter, repr of its default or None
    inputs: dict[str, dict[str, Any]]  # forward argument -> {dtype, rank} or {scalar: True}, in call order
    outputs: dict[str, dict[str, Any]]
    init_values: dict[str, Any] = field(default_factory=dict)  # constructor arguments of the workload that was run
    mutates: tuple[str, ...] = ()
    state: tuple[str, ...] = ()  # parameters and buffers of the reference module
    aliases: dict[str, str] = field(default_factory=dict)  # output -> input it is the same tensor as

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Facts:
        init = tuple((name, default) for name, default in body["init"])
        return cls(**{**body, "init": init, "mutates": tuple(body["mutates"]), "state": tuple(body["state"])})

    def tensors(self) -> list[str]:
        return [name for name, fact in self.inputs.items() if "dtype" in fact]

    def dtype(self, name: str) -> str:
        return str(self.inputs.get(name, self.outputs.get(name, {}))["dtype"])

    def init_arguments(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """A workload's constructor arguments with the defaults filled in where they are literals."""
        defaults = {}
        for name, text in self.init:
            with contextlib.suppress(ValueError, SyntaxError, TypeError):
                defaults[name] = ast.literal_eval(text) if text is not None else None
        return {**defaults, **(given or {})}

    def init_of_type(self, *types: type) -> list[str]:
        """Constructor parameters whose value is of one of the types; a bool is no int."""
        values = self.init_arguments(self.init_values)
        return [name for name in self.init_names() if type(values.get(name)) in types]

    def init_names(self) -> list[str]:
        return [name for name, _ in self.init]


class Template(Protocol):
    """Interface of a module in this package."""

    NAME: str
    FRAMEWORK: str
    CATEGORY: str  # of the plan that uses it
    SUMMARY: str  # one sentence on what it does, for plans
    SPACE: dict[str, tuple[Any, ...]]  # parameter -> values, the default first

    def hypotheses(self, facts: Facts) -> Iterator[dict[str, Any]]:
        """Every reading of the operator this template could serve, as JSON semantics with roles."""

    def formula(
        self, semantics: Mapping[str, Any], init: Mapping[str, Any], inputs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The outputs by that reading in the precision of the inputs."""

    def render(self, facts: Facts, semantics: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
        """A self-contained kernel file."""


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(SOURCE), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip


def cpp_source(name: str, defines: Mapping[str, Any]) -> str:
    """One translation unit: the defines, the shared header and a template's source."""
    lines = [f"#define {key} {_cpp_value(value)}" for key, value in defines.items()]
    return "\n".join(lines) + "\n" + (SOURCE / "common.hpp").read_text() + (SOURCE / f"{name}.cpp").read_text()


def _cpp_value(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def common_defines(parameters: Mapping[str, Any], dtypes: list[str]) -> dict[str, Any]:
    defines: dict[str, Any] = {"KW_NEEDS_F16": 1} if "float16" in dtypes else {}
    return {
        **defines,
        "KW_PARALLEL_BYTES": parameters["parallel_bytes"],
        "KW_HUGE_PAGES": parameters["huge_pages"],
        "KW_STREAM": parameters["stream"],
        "KW_UNROLL": parameters["unroll"],
        "KW_CHUNK": parameters["chunk"],
    }


def render_module(template: str, facts: Facts, source: str, summary: str, **names: Any) -> str:
    """Fill source/<template>.py.j2: the Python half of a kernel file around a C++ source."""
    init = ", ".join(name if default is None else f"{name}={default}" for name, default in facts.init)
    return render(
        f"{template}.py.j2", facts=facts, source=source, flags=list(FLAGS), summary=summary, init=init, **names
    )


def render(template: str, **names: Any) -> str:
    """Fill a file of source/."""
    text: str = _environment().get_template(template).render(**names)
    return text


def single_dtype(facts: Facts, *names: str | None) -> bool:
    """True when every named tensor has one dtype this package's C++ can read."""
    return all(name is None or facts.dtype(name) in CPP_TYPES for name in names)


def parameters_text(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in parameters.items())


def scalar(where: Mapping[str, Any], init: Mapping[str, Any]) -> float:
    """Value of a scalar role: `{value: v}` or `{init: name of a constructor argument}`; NaN when it is no number."""
    value = where["value"] if "value" in where else init.get(where["init"])
    return float(value) if isinstance(value, int | float) else float("nan")


def scalar_text(where: Mapping[str, Any]) -> str:
    """The same as Python text of a kernel file."""
    return repr(where["value"]) if "value" in where else f"self.{where['init']}"
