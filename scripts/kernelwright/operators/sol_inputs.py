"""Build the inputs of a SOL-ExecBench workload. Imports torch and runs the problem's code: for child processes only.

Random tensors follow the element type: floats are standard normal (8-bit floats clipped to +-2 first), booleans and
integers are uniform. A name that means a positive quantity (rstd, var, std, scale) gets positive values.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from kernelwright.errors import InputError
from kernelwright.operators import sol_execbench
from kernelwright.operators.model import Operator, Workload

POSITIVE_NAMES = ("rstd", "var", "variance", "std", "scale", "scales")
MAX_RANDOM_INTEGER = 128


def build(operator: Operator, workload: Workload, device: torch.device, module: ModuleType) -> dict[str, Any]:
    """Inputs in the order of definition.json. The caller has seeded torch."""
    axes = operator.axis_values(workload)
    entries = workload.input_kwargs["inputs"]
    scalars = {name: entry["value"] for name, entry in entries.items() if entry["type"] == "scalar"}
    custom = custom_inputs(operator, {**axes, **scalars}, device, module) if has_custom(entries) else {}
    made: dict[str, Any] = {}
    for name, declared in operator.inputs.items():
        kind = entries[name]["type"]
        if kind == "scalar":
            made[name] = scalar(entries[name]["value"], declared, operator, name)
        elif kind == "custom":
            if name not in custom:
                raise InputError(f"{operator.source}: custom_inputs_entrypoint returned no {name!r}")
            made[name] = custom[name]
        elif kind == "safetensors":
            made[name] = from_file(operator, entries[name], device)
        else:
            made[name] = random_value(operator, name, axes, device)
    return made


def has_custom(entries: dict[str, Any]) -> bool:
    return any(entry["type"] == "custom" for entry in entries.values())


def custom_inputs(
    operator: Operator, known: dict[str, Any], device: torch.device, module: ModuleType
) -> dict[str, Any]:
    """Call the problem's own builder: function(axes_and_scalars, device) -> dict."""
    made = getattr(module, operator.details["custom_inputs_entrypoint"])(known, device)
    if not isinstance(made, dict):
        raise InputError(f"{operator.source}: custom_inputs_entrypoint returned {type(made).__name__}, expected a dict")
    return made


def scalar(value: Any, declared: dict[str, Any], operator: Operator, name: str) -> Any:
    if "scalar" in declared:
        return value
    if declared["shape"]:
        raise InputError(f"{operator.source}: inputs.{name}: type scalar for a tensor of shape {declared['shape']}")
    return torch.tensor(value, dtype=getattr(torch, declared["dtype"]))


def from_file(operator: Operator, entry: dict[str, Any], device: torch.device) -> torch.Tensor:
    try:
        from safetensors import safe_open
    except ImportError:
        raise InputError(f"{operator.source}: input of type safetensors needs the package safetensors") from None
    path = sol_execbench.safetensors_path(operator.directory, entry["path"])
    with safe_open(str(path), framework="pt") as file:
        if entry["tensor_key"] not in file.keys():  # noqa: SIM118 - safe_open is no mapping
            raise InputError(f"{path}: no tensor {entry['tensor_key']!r}")
        return file.get_tensor(entry["tensor_key"]).to(device)


def random_value(operator: Operator, name: str, axes: dict[str, int], device: torch.device) -> Any:
    declared = operator.inputs[name]
    if "scalar" in declared:
        return random_scalar(declared["scalar"])
    shape = operator.shape_of(declared, axes, f"inputs.{name}")
    return random_tensor(name, shape, declared["dtype"], device)


def random_scalar(dtype: str) -> Any:
    if dtype == "bool":
        return bool(torch.randint(0, 2, (), device="cpu").item())
    if "int" in dtype:
        return int(torch.randint(0, MAX_RANDOM_INTEGER, (), device="cpu").item())
    return float(torch.randn((), device="cpu").item())


def random_tensor(name: str, shape: tuple[int, ...], dtype_name: str, device: torch.device) -> torch.Tensor:
    if dtype_name == "float4_e2m1fn_x2":  # two values in a byte: every byte is a valid pair
        return torch.randint(0, 256, shape, dtype=torch.uint8, device=device).view(torch.float4_e2m1fn_x2)
    dtype = getattr(torch, dtype_name)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, device=device).to(torch.bool)
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(0, MAX_RANDOM_INTEGER, shape, device=device).to(dtype)
    values = torch.randn(shape, device=device)
    if set(name.lower().split("_")) & set(POSITIVE_NAMES):
        values = values.abs() + 0.1
    return values.clamp(-2, 2).to(dtype) if dtype.itemsize == 1 else values.to(dtype)
