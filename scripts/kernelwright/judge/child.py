"""The process that runs one kernel: a candidate, or one of the judge's own contenders under the very same harness.

Nothing here is trusted by the service: it keeps the clock, reads results out of this process's memory while it is
stopped, and knows what they must be. This side only calls the kernel and says where its outputs lie.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from kernelwright.judge import transport
from kernelwright.judge.arena import Arena, dtype_name
from kernelwright.judge.guarded import GuardedAllocations
from kernelwright.judge.protocol import Channel, Closed
from kernelwright.sandbox import linux

TEXT_CHARS = 6000
COMPILE_HINTS = (
    "Error building extension",
    "CalledProcessError",
    "CompilationError",
    "CompileError",
    "ninja",
    "nvcc",
    "g++",
)


def pointers(result: Any) -> list[int]:
    """Addresses of the tensors a call returned, in order; 0 for what is no tensor."""
    if isinstance(result, torch.Tensor):
        return [result.data_ptr()]
    if isinstance(result, Mapping):
        result = result.values()
    elif not isinstance(result, tuple | list):
        return [0]
    return [item.data_ptr() if isinstance(item, torch.Tensor) else 0 for item in result]


def resolved(result: Any) -> Any:
    """A result whose memory holds its values: torch negates and conjugates views lazily."""
    if type(result) in (torch.Tensor, torch.nn.Parameter):
        return result.resolve_conj().resolve_neg() if result.is_neg() or result.is_conj() else result
    if type(result) in (tuple, list):
        return [resolved(item) for item in result]
    if type(result) is dict:
        return {name: resolved(item) for name, item in result.items()}
    return result


def names(held: list[Any]) -> list[str] | None:
    """Names of the outputs where calls returned a mapping."""
    return [str(name) for name in held[-1]] if held and isinstance(held[-1], Mapping) else None


def facts(result: Any) -> list[dict[str, Any]]:
    """What a call returned: name (None when by position), exact type, dtype, shape, stride, device, address."""
    if result is None:
        return []
    if isinstance(result, Mapping):
        items = list(result.items())
    else:
        items = [(None, item) for item in (result if isinstance(result, tuple | list) else [result])]
    return [{"name": name, **describe(value)} for name, value in items]


def describe(value: Any) -> dict[str, Any]:
    if not isinstance(value, torch.Tensor):
        known = value is None or isinstance(value, bool | int | float | str)
        return {"type": type(value).__name__, "value": value if known else None}
    return {
        "type": "Tensor" if type(value) in (torch.Tensor, torch.nn.Parameter) else type(value).__qualname__,
        "dtype": dtype_name(value.dtype),
        "shape": list(value.shape),
        "stride": list(value.stride()),
        "device": value.device.type,
        "pointer": value.data_ptr(),
    }


class Harness:
    """One method per message. `function` is the kernel; `sets` are its inputs by set number."""

    with_fds: tuple[str, ...] = ("attach", "prepare")
    plain: tuple[str, ...] = ("warm", "configure", "load", "call", "batch", "null_sets", "pin", "profile")

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.module: Any = None
        self.function: Callable[..., Any] = self._null
        self.arenas: dict[int, Arena] = {}
        self.sets: dict[int, dict[str, Any]] = {}
        self.held: list[Any] = []
        self.pinned: list[Any] = []
        self.positional = config["layout"] == "kernelbench"
        self.nothing = torch.empty(1)

    def _null(self, **inputs: Any) -> Any:
        return self.nothing

    def warm(self, message: dict[str, Any]) -> dict[str, Any]:
        """What can be made ready before it is known for which kernel."""
        return {}

    def configure(self, message: dict[str, Any]) -> dict[str, Any]:
        """What a process that was made in advance is for."""
        self.config.update(message["config"])
        self.positional = self.config["layout"] == "kernelbench"
        return {}

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Write the frozen source to the private folder and import it."""
        path = os.path.join(os.getcwd(), message["filename"])
        Path(path).write_bytes(message["source"].encode(message.get("encoding", "utf-8")))
        name = message["filename"].removesuffix(".py")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        self.module = importlib.util.module_from_spec(spec)
        sys.modules[name] = self.module
        spec.loader.exec_module(self.module)
        return {}

    def attach(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Map an arena and make its input sets: message has key, size, first set number and specs of each set."""
        self.sets.clear()
        self.held, self.pinned = [], []
        self.arenas.clear()
        gc.collect()
        arena = self.arenas[message["key"]] = self.mapped(message["size"], fds)
        addresses = []
        for index, specs in enumerate(message["sets"]):
            self.sets[index] = arena.values(specs)
            addresses.append(pointers(self.sets[index]))
        return {"addresses": addresses}

    def mapped(self, size: int, fds: list[int]) -> Any:
        """Memory that the service hands over."""
        return Arena(size, fds[0])

    def weights_from(self, size: int, fds: list[int]) -> Any:
        return Arena(size, fds[0])

    def prepare(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Construct the kernel for one workload."""
        from kernelwright.operators import runtime

        positional, named, weights = message["positional"], message["named"], {}
        if fds:
            arena = self.weights_from(message["size"], fds)
            values = arena.values(message["specs"])
            positional, named = values.pop("positional"), dict(values.pop("named"))
            weights = {key.removeprefix("w:"): value.clone() for key, value in values.items()}
        self.function = self._construct(runtime, message, positional, named)
        if weights and isinstance(self.function, torch.nn.Module):
            wanted = self.function.state_dict()
            same = {key: value for key, value in weights.items() if key in wanted and wanted[key].shape == value.shape}
            self.function.load_state_dict(same, strict=False)
        gc.collect()
        gc.freeze()
        return {}

    def _construct(self, runtime: Any, message: dict[str, Any], positional: list[Any], named: dict[str, Any]) -> Any:
        if self.config["contender"]:
            return self._contender(runtime, message)
        entry = getattr(self.module, message["entry"])
        if self.config["layout"] == "sol_execbench":
            return entry
        with runtime.on_device(self.config["device"]) as target:
            runtime.seed_all(runtime.WEIGHT_SEED)
            made = entry(*positional, **named)
            if isinstance(made, torch.nn.Module):
                made = made.to(target).eval() if self.config["layout"] == "native" else made.to(target)
        return made

    def _contender(self, runtime: Any, message: dict[str, Any]) -> Any:
        """The reference itself, eager or compiled."""
        from kernelwright import operators

        operator = operators.load(self.config["operator_dir"])
        callee = runtime.Runtime(operator).reference(operator.workload(message["workload"]), self.config["device"])
        if self.config["contender"] != "compiled":
            return callee.function
        import torch._dynamo

        torch._dynamo.config.recompile_limit = 256
        return torch.compile(callee.function, dynamic=False)

    def call(self, message: dict[str, Any]) -> dict[str, Any]:
        """One call on one input set; `poison` is the byte that new memory is filled with, or None."""
        if not message["keep"]:
            self.held = []
        poison = message["poison"]
        broken: list[str] = []
        if poison is None:
            result = resolved(self._invoke(self.sets[message["set"]]))
        else:
            linux.mallopt(linux.M_PERTURB, poison ^ 0xFF)  # glibc fills with the complement
            # torch.compile would trace the mode itself, so compiled kernels have the C library's fill alone
            guard = GuardedAllocations(poison)
            with contextlib.nullcontext() if "torch._dynamo" in sys.modules else guard:
                result = resolved(self._invoke(self.sets[message["set"]]))
            linux.mallopt(linux.M_PERTURB, 0)
            broken = guard.broken()
        self.held.append(result)
        return {"outputs": facts(result), "broken": broken}

    def batch(self, message: dict[str, Any]) -> dict[str, Any]:
        """Calls on the listed sets, one after the other; only the addresses of the outputs are answered."""
        self.held = []
        held, function, sets = self.held, self.function, self.sets
        if self.positional:
            for index in message["sets"]:
                held.append(resolved(function(*sets[index].values())))
        else:
            for index in message["sets"]:
                held.append(resolved(function(**sets[index])))
        return {"pointers": [pointers(result) for result in held], "names": names(held)}

    def pin(self, message: dict[str, Any]) -> dict[str, Any]:
        """Keep what the last batch's first call returned until other inputs are attached."""
        self.pinned = self.held[:1]
        return {}

    def null_sets(self, message: dict[str, Any]) -> dict[str, Any]:
        """Sets without inputs for the calibration of the harness itself."""
        self.sets = {index: {} for index in range(message["count"])}
        gc.disable()
        return {}

    def profile(self, message: dict[str, Any]) -> dict[str, Any]:
        """Names and self time of the ATen operators that a few calls ran in any thread, and of everything together."""
        from torch.autograd.profiler import profile, record_function

        self._invoke(self.sets[0])
        config = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
        with profile(experimental_config=config, acc_events=False) as trace, record_function("kernelwright"):
            for _ in range(message["calls"]):
                self._invoke(self.sets[0])
        rows = [[item.key, item.self_cpu_time_total, item.count] for item in trace.key_averages()]
        return {"rows": rows, "modules": sorted({name.partition(".")[0] for name in sys.modules})}

    def _invoke(self, inputs: dict[str, Any]) -> Any:
        return self.function(*inputs.values()) if self.positional else self.function(**inputs)


def serve(channel: Channel, config: dict[str, Any]) -> None:
    """Answer the service until it hangs up. A kernel's exception is an answer; a crash is the end of this process."""
    torch.set_grad_enabled(False)
    harness = transport.of(config["device"]).harness(config)
    while True:
        try:
            message, fds = channel.receive()
        except Closed:
            return
        try:
            operation = message["op"]
            if operation in harness.with_fds:
                reply = getattr(harness, operation)(message, fds)
            elif operation in harness.plain:
                reply = getattr(harness, operation)(message)
            else:
                reply = {"ready": True}
        except Exception as error:
            reply = explain(error)
        channel.send(reply)


def explain(error: Exception) -> dict[str, Any]:
    text = traceback.format_exc()[-TEXT_CHARS:]
    try:
        line = f"{type(error).__name__}: {error}".strip().splitlines()[0][:300]
    except Exception:  # an exception whose own text raises
        line = type(error).__name__
    building = any(hint in text for hint in COMPILE_HINTS)
    return {"error": line, "text": text, "compile": building}
