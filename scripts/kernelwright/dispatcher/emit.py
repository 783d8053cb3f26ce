"""Write the dispatcher: one self-contained Python file with each kernel once and a choice by signature.

The choice tests what buckets.match tests, in the same words (see buckets.layout_key); it reads shapes, dtypes,
contiguity and non-tensor arguments, never a value of a tensor, so nothing synchronises. A decision is remembered by
these facts, so that a repeated shape costs one dictionary lookup.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.dispatcher import parameters
from kernelwright.dispatcher.merge import Kernel, Merged, import_order, merge
from kernelwright.dispatcher.parameters import Parameter
from kernelwright.dispatcher.rename import MergeError

OWN_IMPORTS = ("import math", "import torch")
OWN_NAMES = ("_KERNELWRIGHT_RULES", "_kernelwright_fact", "_kernelwright_choose")

CHOICE = '''\
def _kernelwright_fact(value):
    """What a decision depends on of one argument."""
    if isinstance(value, torch.Tensor):
        return value.shape, value.dtype, value.is_contiguous()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return list if isinstance(value, tuple) else value.__class__


def _kernelwright_choose(arguments):
    """Index of the kernel for a call; `arguments` are (name, value) in call order."""
    words, size = [], 0
    for name, value in arguments:
        fact = _kernelwright_fact(value)
        if isinstance(value, torch.Tensor):
            size += value.numel() * value.element_size()
            layout = "c" if fact[2] else "s"
            words.append(f"{name}:{str(value.dtype).removeprefix('torch.')}:{value.dim()}:{layout}")
        else:
            words.append(f"{name}={fact.__name__ if isinstance(fact, type) else repr(fact)}")
    key = ";".join(words)
    for wanted in (key, None):
        for layout_key, smallest, end, kernel in _KERNELWRIGHT_RULES:
            if layout_key == wanted and smallest <= size and (end is None or size < end):
                return kernel
    return _KERNELWRIGHT_RULES[-1][3]
'''

MODULE = '''\
class {entry}(torch.nn.Module):
    """Runs the kernel of a call's bucket. Parameters and buffers are those of the first kernel, shared by all."""

    def __init__(self{init_declared}):
        super().__init__()
        self._kernels = ({constructions})
        first = self._kernels[0]
        self._parameters, self._buffers, self._modules = first._parameters, first._buffers, first._modules
        self._non_persistent_buffers_set = first._non_persistent_buffers_set
        self._share()
        self._forwards = tuple(kernel.forward for kernel in self._kernels)
        self._choices = {{}}

    def _share(self):
        first = self._kernels[0]
        for kernel in self._kernels[1:]:
            modules = dict(kernel.named_modules())
            for prefix, owner in first.named_modules():
                other = modules.get(prefix)
                for kind in ("_parameters", "_buffers") if other is not None else ():
                    mine, theirs = getattr(owner, kind), getattr(other, kind)
                    for name, value in mine.items():
                        if value is not None and theirs.get(name) is not None and theirs[name].shape == value.shape:
                            theirs[name] = value

    def _apply(self, function, recurse=True):
        for kernel in self._kernels:
            kernel._apply(function, recurse)
        self._share()
        return self

    def load_state_dict(self, state_dict, strict=True, assign=False):
        results = [kernel.load_state_dict(state_dict, strict, assign) for kernel in self._kernels]
        self._share()
        return results[0]

    def train(self, mode=True):
        self.training = mode
        for kernel in self._kernels:
            kernel.train(mode)
        return self

    def forward(self, {forward_declared}):
        facts = ({facts},)
        forward = self._choices.get(facts)
        if forward is None:
            if len(self._choices) >= 4096:  # shapes without end must not fill the memory
                self._choices.clear()
            forward = self._choices[facts] = self._forwards[_kernelwright_choose(({arguments},))]
        return forward({forward_passed})
'''

FUNCTION = '''\
_KERNELWRIGHT_KERNELS = ({constructions})
_KERNELWRIGHT_CHOICES = {{}}


def {entry}({forward_declared}):
    """Runs the kernel of a call's bucket."""
    facts = ({facts},)
    function = _KERNELWRIGHT_CHOICES.get(facts)
    if function is None:
        if len(_KERNELWRIGHT_CHOICES) >= 4096:  # shapes without end must not fill the memory
            _KERNELWRIGHT_CHOICES.clear()
        function = _KERNELWRIGHT_CHOICES[facts] = _KERNELWRIGHT_KERNELS[_kernelwright_choose(({arguments},))]
    return function({forward_passed})
'''


@dataclass(frozen=True)
class Plan:
    """What the dispatcher is made of. `buckets` are those of buckets.json; `kernel_of` maps a bucket id to a label."""

    entry: str
    kernels: tuple[Kernel, ...]
    buckets: tuple[Mapping[str, Any], ...]
    kernel_of: Mapping[str, str]
    arguments: Mapping[str, str]  # name in the signatures -> "tensor", or "any" when some workload passes another kind
    positional: bool  # called by position (KernelBench); signature names are then not parameter names


def arguments_of(signatures: Mapping[str, Any]) -> dict[str, str]:
    """Call arguments of signatures.json's workloads, in call order, with their kind."""
    found: dict[str, str] = {}
    for workload in signatures["workloads"].values():
        for name, entry in workload["args"].items():
            kind = "tensor" if "shape" in entry else "any"
            found[name] = kind if found.get(name, kind) == kind else "any"
    return found


def _rules(plan: Plan) -> str:
    index = {kernel.label: position for position, kernel in enumerate(plan.kernels)}
    lines = [
        "# (layout key, smallest input bytes, end of input bytes, kernel), one line per bucket",
        "_KERNELWRIGHT_RULES = (",
    ]
    for bucket in plan.buckets:
        rule, label = bucket["rule"], plan.kernel_of[bucket["id"]]
        values = (rule["layout_key"], rule["min_input_bytes"], rule["max_input_bytes"], index[label])
        lines.append(f"    {values!r},  # {bucket['id']} ({' '.join(bucket['label'].split())}): {label}")
    return "\n".join([*lines, ")"])


def _signature(
    plan: Plan, merged: Merged, trees: Sequence[ast.Module], method: str | None
) -> tuple[list[Parameter] | None, bool]:
    """Parameters of the first kernel that spells them out, and whether all kernels spell the same names in order."""
    spelled: list[list[Parameter] | None] = []
    for kernel, tree, names in zip(plan.kernels, trees, merged.names, strict=True):
        node = parameters.definition(tree, plan.entry, kernel.label)
        function = parameters.method(tree, node, method) if isinstance(node, ast.ClassDef) and method else node
        found = isinstance(function, ast.FunctionDef)
        spelled.append(parameters.of_function(function, names, method is not None) if found else None)  # type: ignore[arg-type]
    known = [found for found in spelled if found is not None]
    orders = {tuple((parameter.name, parameter.keyword_only) for parameter in found) for found in known}
    return (known[0] if known else None), len(orders) == 1 and len(known) == len(spelled)


def _call_texts(plan: Plan, signature: list[Parameter] | None, same_order: bool) -> dict[str, str]:
    """The parts of the entry point that mention its arguments."""
    names = list(plan.arguments)
    taken = signature if signature is not None else [Parameter(name) for name in names]
    # A call by position binds signature names to parameters in order, a call by name binds equal names.
    bound = dict(zip(names, (item.name for item in taken), strict=False)) if plan.positional else {n: n for n in names}
    missing = [name for name in names if bound.get(name) not in {item.name for item in taken}]
    if missing:
        raise MergeError(f"{plan.kernels[0].label}: {plan.entry} does not take the argument {missing[0]!r}")
    facts = [
        f"{(p := bound[name])}.shape, {p}.dtype, {p}.is_contiguous()"
        if kind == "tensor"
        else f"_kernelwright_fact({bound[name]})"
        for name, kind in plan.arguments.items()
    ]
    return {
        "forward_declared": parameters.declared(taken),
        "forward_passed": parameters.passed(taken, by_name=not (same_order or plan.positional)),
        "facts": ", ".join(facts),
        "arguments": ", ".join(f"({name!r}, {bound[name]})" for name in names),
    }


def _entry_point(plan: Plan, merged: Merged) -> str:
    trees = [ast.parse(kernel.text) for kernel in plan.kernels]
    kinds = {
        type(parameters.definition(tree, plan.entry, kernel.label))
        for kernel, tree in zip(plan.kernels, trees, strict=True)
    }
    is_class = kinds == {ast.ClassDef}
    calls = _call_texts(plan, *_signature(plan, merged, trees, "forward" if is_class else None))
    entries = [names[plan.entry] for names in merged.names]
    if not is_class:
        return FUNCTION.format(entry=plan.entry, constructions=", ".join(entries) + ",", **calls)
    init, same_order = _signature(plan, merged, trees, "__init__")
    spelled = init is not None
    init_passed = (
        parameters.passed(init or [], by_name=not (same_order or plan.positional)) if spelled else "*args, **kwargs"
    )
    declared = parameters.declared(init or []) if spelled else "*args, **kwargs"
    return MODULE.format(
        entry=plan.entry,
        init_declared=f", {declared}" if declared else "",
        constructions=", ".join(f"{name}({init_passed})" for name in entries) + ",",
        **calls,
    )


def header(lines: Sequence[str]) -> str:
    """Facts as comment lines on top of a kernel file."""
    wrapped = [part for line in lines for part in textwrap.wrap(line, 116, subsequent_indent="  ") or [""]]
    return "\n".join(f"# {line}".rstrip() for line in wrapped) + "\n"


def dispatcher(plan: Plan, notes: Sequence[str] = ()) -> str:
    """Source of the dispatcher. Raises MergeError (one line) when the kernels cannot be put into one file."""
    merged = merge(
        plan.kernels,
        reserved={plan.entry, *OWN_NAMES, "_KERNELWRIGHT_KERNELS", "_KERNELWRIGHT_CHOICES"},
        own=OWN_IMPORTS,
    )
    parts = [header(notes)] if notes else []
    if merged.futures:
        parts.append(f"from __future__ import {', '.join(merged.futures)}\n")
    parts.append("\n".join(sorted({*merged.imports, *OWN_IMPORTS}, key=import_order)) + "\n")
    for kernel, body in zip(plan.kernels, merged.bodies, strict=True):
        parts.append(f"\n# ---- kernel {kernel.label} ----\n\n{body}\n")
    parts.append(f"\n# ---- choice ----\n\n{_rules(plan)}\n\n\n{CHOICE}\n\n{_entry_point(plan, merged)}")
    return "\n".join(parts)


def alone(text: str, notes: Sequence[str]) -> str:
    """A kernel's source with a header, otherwise as it was."""
    return f"{header(notes)}\n{text}" if notes else text
