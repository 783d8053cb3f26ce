"""Run an operator's own code: its input builder, its reference and a candidate of its layout.

Imports torch and executes code of the operator, so only children of the judge and step subprocesses import it.

Device and seed: inputs and models are built under `with torch.device(device)` after torch, Python and (when loaded)
NumPy are seeded, so an input builder needs no device argument. Code that names `cuda` literally is redirected to the
device asked for.
"""

from __future__ import annotations

import contextlib
import importlib.util
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from kernelwright.errors import InputError
from kernelwright.operators import sol_inputs
from kernelwright.operators.model import Operator, Workload

WEIGHT_SEED = 0  # weights are part of the problem, not of the secret inputs


class _Redirect(TorchFunctionMode):
    """Calls that name an accelerator literally go to the device asked for."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0].to(self.device)
        if kwargs.get("device") is not None:
            kwargs["device"] = self._redirected(kwargs["device"])
        if func is torch.Tensor.to:
            args = (args[0], *(self._redirected(item) for item in args[1:]))
        return func(*args, **kwargs)

    def _redirected(self, value: Any) -> Any:
        if isinstance(value, str | torch.device):
            try:
                named = torch.device(value)
            except RuntimeError:
                return value
            return self.device if named.type in ("cuda", "hip") else value
        return value


@contextlib.contextmanager
def on_device(device: str | torch.device) -> Iterator[torch.device]:
    """torch's default device for a block; a literal `cuda` in it means this device."""
    target = torch.device(device)
    with torch.device(target), _Redirect(target):
        yield target


def seed_all(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def import_file(path: Path, name: str) -> ModuleType:
    """Run one Python file as module `name`; its folder is importable while it runs."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


class Callee:
    """A reference or candidate: called with the inputs by name, returns its outputs by declared name."""

    def __init__(self, runtime: Runtime, function: Callable[..., Any], positional: bool) -> None:
        self.runtime = runtime
        self.function = function  # the nn.Module, or SOL-ExecBench's `run`
        self.positional = positional

    def raw(self, inputs: Mapping[str, Any]) -> Any:
        """Exactly what the operator's code returns."""
        return self.function(*inputs.values()) if self.positional else self.function(**inputs)

    def __call__(self, **inputs: Any) -> dict[str, Any]:
        return self.runtime.normalise_outputs(self.raw(inputs))


class Runtime:
    """Inputs, reference and candidates of one operator."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self._modules: dict[Path, ModuleType] = {}

    def build_inputs(self, workload: Workload, seed: int, device: str | torch.device) -> dict[str, Any]:
        """Fresh inputs of a workload by name, in call order: tensors on `device`, scalars as they are."""
        with on_device(device) as target:
            seed_all(seed)
            if self.operator.layout == "sol_execbench":
                return sol_inputs.build(self.operator, workload, target, self._reference_module())
            if self.operator.layout == "kernelbench":
                values = self._reference_module().get_inputs()
                return {f"arg{index}": _placed(value, target) for index, value in enumerate(values)}
            made = self._module(self.operator.directory / "input.py")._make_inputs(**workload.input_kwargs)
        if not isinstance(made, dict):
            raise InputError(f"{self.operator.source}: _make_inputs returned {type(made).__name__}, expected a dict")
        return made

    def reference(self, workload: Workload, device: str | torch.device) -> Callee:
        """The reference, built for a workload's constructor arguments."""
        module = self._reference_module()
        if self.operator.layout == "sol_execbench":
            return Callee(self, module.run, positional=False)
        return self._model(module, self.operator.reference_name, workload, device)

    def candidate(self, module: ModuleType, workload: Workload, device: str | torch.device) -> Callee:
        """A candidate's callable from its imported module; needs no reference module.

        KernelBench candidates get the reference's weights by `adopt_weights`. Raises InputError when the module lacks
        the entry point.
        """
        name = self.operator.candidate_name
        if not hasattr(module, name):
            raise InputError(f"{getattr(module, '__file__', module.__name__)}: does not define {name}")
        if self.operator.layout != "sol_execbench":
            return self._model(module, name, workload, device)
        return Callee(self, getattr(module, name), positional=False)

    def init_arguments(self, workload: Workload, device: str | torch.device) -> tuple[list[Any], dict[str, Any]]:
        """Positional and named constructor arguments. KernelBench's come from get_init_inputs of the reference file."""
        if self.operator.layout != "kernelbench":
            return [], dict(workload.init_kwargs)
        with on_device(device):
            seed_all(WEIGHT_SEED)
            given = self._reference_module().get_init_inputs()
        # Some problems return [[positional...], {named...}], most return the positional list itself.
        if len(given) == 2 and isinstance(given[0], list) and isinstance(given[1], dict):
            return list(given[0]), dict(given[1])
        return list(given), {}

    def normalise_outputs(self, raw: Any) -> dict[str, Any]:
        """Outputs by name: declared names, else out0, out1...; a dict keeps its own keys; None is no output."""
        if raw is None:
            return {}
        if isinstance(raw, Mapping):
            return dict(raw)
        values = list(raw) if isinstance(raw, tuple | list) else [raw]
        declared = list(self.operator.outputs)
        names = declared if len(declared) == len(values) else [f"out{index}" for index in range(len(values))]
        return dict(zip(names, values, strict=True))

    def _model(self, module: ModuleType, name: str, workload: Workload, device: str | torch.device) -> Callee:
        positional, named = self.init_arguments(workload, device)
        with on_device(device) as target:
            seed_all(WEIGHT_SEED)
            model = getattr(module, name)(*positional, **named)
            if isinstance(model, torch.nn.Module):
                # Moved only when needed: parameters of a fake tensor mode cannot be moved at all.
                if any(item.device.type != target.type for item in (*model.parameters(), *model.buffers())):
                    model = model.to(target)
                if self.operator.layout == "native":
                    model = model.eval()
        return Callee(self, model, positional=self.operator.layout == "kernelbench")

    def _reference_module(self) -> ModuleType:
        if self.operator.layout == "kernelbench":
            return self._module(self.operator.source)
        if self.operator.layout == "native":
            return self._module(self.operator.directory / "reference.py")
        return self._sol_module()

    def _module(self, path: Path) -> ModuleType:
        if path not in self._modules:
            self._modules[path] = import_file(path, f"_kernelwright_operator_{path.stem}_{abs(hash(path)):x}")
        return self._modules[path]

    def _sol_module(self) -> ModuleType:
        path = self.operator.directory / "definition.json"
        if path not in self._modules:
            module = ModuleType("_kernelwright_operator_sol")
            module.__file__ = f"{path} (reference)"
            exec(compile(self.operator.details["reference"], module.__file__, "exec"), module.__dict__)
            self._modules[path] = module
        return self._modules[path]


def adopt_weights(candidate: Any, reference: Any) -> list[str]:
    """Copy parameters and buffers of the same name and shape from the reference module; returns the names left out."""
    if not isinstance(candidate, torch.nn.Module) or not isinstance(reference, torch.nn.Module):
        return []
    given, wanted = reference.state_dict(), candidate.state_dict()
    same = {key: value for key, value in given.items() if key in wanted and wanted[key].shape == value.shape}
    candidate.load_state_dict(same, strict=False)
    return [key for key in given if key not in same]


def _placed(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value
