"""The oracle process: builds inputs and expected outputs from the operator's own code. It never sees a candidate.

Forked from the zygote, one per operator, kept warm. The service asks it for input sets and, for a set, for the
reference's outputs at the declared dtype and for the outputs in the oracle's precision.
"""

from __future__ import annotations

import copy
import traceback
from pathlib import Path
from typing import Any

import torch

from kernelwright import operators
from kernelwright.judge import precision, transport
from kernelwright.judge.arena import Arena, clone, paint_guards, plan, store
from kernelwright.judge.protocol import Channel, Closed
from kernelwright.operators.runtime import Runtime

LARGE = {torch.float16: 32.0}  # fp16 ends at 65504, and squares of inputs must have room
TINY = {torch.float16: 2.0**-8}
SCALED = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SPIKE, TAIL = 32.0, 16  # height over the mean magnitude; columns that count as the last ones
MUTATED = "mutated:"  # prefix of an expected tensor that is an input after the call


class Oracle:
    """State of one oracle process. Each public method answers one message and returns (reply, descriptors)."""

    def __init__(self, directory: str, device: str) -> None:
        self.operator = operators.load(Path(directory))
        self.runtime = Runtime(self.operator)
        self.device = device
        self.transport = transport.of(device)
        self.models: dict[tuple[str, str], Any] = {}
        self.sets: dict[int, tuple[Arena, list[list[dict[str, Any]]], list[str]]] = {}
        self.tile = torch.randint(0, 256, (256,), dtype=torch.uint8).to(device)

    def build(self, message: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        """Input sets [{workload, seed, regime}] in one new arena, kept under message['key']."""
        made, specs, end = [], [], 0
        for wish in message["sets"]:
            inputs = self.runtime.build_inputs(self.operator.workload(wish["workload"]), wish["seed"], self.device)
            inputs = apply_regime(inputs, wish["regime"], self.operator.inputs)
            spec, end = plan(inputs, end)
            made.append(inputs)
            specs.append(spec)
        arena = self.transport.giving(end)
        for inputs, spec in zip(made, specs, strict=True):
            paint_guards(arena, spec, self.tile)
            store(arena, spec, inputs)
        self.sets[message["key"]] = (arena, specs, [wish["workload"] for wish in message["sets"]])
        return self.handed(arena, {"sets": specs})

    def rebuild(self, message: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        """New values for the sets under message['key'] in the same places; stops at one that would need another."""
        arena, specs, _ = self.sets[message["key"]]
        end = 0
        for wish, known in zip(message["sets"], specs, strict=True):
            inputs = self.runtime.build_inputs(self.operator.workload(wish["workload"]), wish["seed"], self.device)
            spec, end = plan(inputs, end)
            if spec != known:
                return {"same": False}, []
            store(arena, spec, inputs)
        return {"same": True}, []

    def expect(self, message: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        """Expected outputs of set message['index'] under message['key'], from the arena's present content."""
        arena, specs, workloads = self.sets[message["key"]]
        inputs = arena.values(specs[message["index"]])
        changed = message.get("change")
        if changed is not None:
            inputs[changed] = disturbed(inputs[changed])
        declared, aliases = self.run(workloads[message["index"]], inputs, "declared")
        note = ""
        try:
            exact = self.run(workloads[message["index"]], inputs, self.operator.oracle)[0]
        except Exception as error:  # a reference that cannot run in float64 is its own oracle, and the verdict says so
            exact, note = declared, f"oracle: the reference itself ({type(error).__name__} in {self.operator.oracle})"
        both = {**{f"declared:{k}": v for k, v in declared.items()}, **{f"oracle:{k}": v for k, v in exact.items()}}
        spec, end = plan(both)
        result = self.transport.giving(end)
        store(result, spec, both)
        return self.handed(result, {"specs": spec, "aliases": aliases, "note": note})

    def drop(self, message: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        self.sets.pop(message["key"], None)
        return {}, []

    def construct(self, message: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        """Constructor arguments of KernelBench models and the reference's weights, for candidates that need both."""
        workload = self.operator.workload(message["workload"])
        positional, named = self.runtime.init_arguments(workload, self.device)
        function = self.runtime.reference(workload, self.device).function
        weights = function.state_dict() if isinstance(function, torch.nn.Module) else {}
        spec, end = plan(
            {"positional": positional, "named": list(named.items()), **{f"w:{k}": v for k, v in weights.items()}}
        )
        arena = self.transport.giving(end)
        store(arena, spec, {f"w:{k}": v for k, v in weights.items()})
        return self.handed(arena, {"specs": spec})

    def handed(self, arena: Arena, body: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        """A reply that hands an arena over."""
        self.last = arena  # its descriptor must live until the reply is sent
        named, fds = self.transport.handle(arena)
        return {**named, **body}, fds

    def run(self, workload_id: str, inputs: dict[str, Any], mode: str) -> tuple[dict[str, Any], dict[str, str]]:
        """Outputs and mutated inputs by name, and which output shares memory with which input."""
        model = self.model(workload_id, mode)
        if mode == "float64":
            given = precision.promoted(inputs, torch.float64)
            with torch.no_grad(), precision.in_float64():
                outputs = model(**given)
        else:
            given = (
                precision.promoted(inputs, torch.float32)
                if mode == "float32"
                else {k: clone(v) for k, v in inputs.items()}
            )
            with torch.no_grad():
                outputs = model(**given)
        check_outputs(outputs, bool(self.operator.mutates))
        aliases = {
            name: source for name, value in outputs.items() for source, item in given.items() if shares(value, item)
        }
        outputs.update({MUTATED + name: given[name] for name in self.operator.mutates})
        return outputs, aliases

    def model(self, workload_id: str, mode: str) -> Any:
        key = (workload_id, mode)
        if key not in self.models:
            made = self.runtime.reference(self.operator.workload(workload_id), self.device)
            if mode in ("float64", "float32") and isinstance(made.function, torch.nn.Module):
                made.function = copy.deepcopy(made.function).to(getattr(torch, mode))
            self.models[key] = made
        return self.models[key]


def check_outputs(outputs: dict[str, Any], mutates: bool) -> None:
    """A reference returns dense tensors and plain scalars. Raises TypeError naming what it returned instead."""
    for name, value in outputs.items():
        if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
            raise TypeError(
                f"the reference returned a {value.layout} tensor as {name}, only dense ones can be compared"
            )
        if not isinstance(value, torch.Tensor | bool | int | float) and value is not None:
            raise TypeError(f"the reference returned a {type(value).__name__} as {name}, expected a tensor or a number")
    if not mutates and not any(isinstance(value, torch.Tensor) for value in outputs.values()):
        raise TypeError("the reference returned no tensor")


def shares(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return False
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr() and one.numel() > 0


def apply_regime(inputs: dict[str, Any], regime: str, declared: dict[str, Any]) -> dict[str, Any]:
    """The same inputs at other values. Integers, fp8 and inputs marked `index` stay."""
    if regime == "normal":
        return inputs
    touched = {
        name: value
        for name, value in inputs.items()
        if isinstance(value, torch.Tensor) and value.dtype in SCALED and not declared.get(name, {}).get("index")
    }
    return {**inputs, **{name: in_regime(value, regime) for name, value in touched.items()}}


def in_regime(value: torch.Tensor, regime: str) -> torch.Tensor:
    result = clone(value)
    if regime == "large":
        return result.mul_(LARGE.get(value.dtype, 1024.0))
    if regime == "tiny":
        return result.mul_(TINY.get(value.dtype, 2.0**-24))
    if regime == "negative":
        return result.abs_().neg_()
    if regime == "zeros":
        return result.zero_()
    if regime == "spike":
        return spiked(result)
    if regime == "duplicated" and value.dim() > 0 and value.shape[0] > 1:
        return result.copy_(value[:1].clone().expand_as(value))
    return result


def spiked(value: torch.Tensor) -> torch.Tensor:
    """Two large values in each row, one of them among the last: a reduction that leaves columns out shows."""
    if value.dim() == 0 or value.shape[-1] < 2 or 0 in value.stride():
        return value
    height = float(SPIKE * value.abs().double().mean())
    if not 0 < height < torch.finfo(value.dtype).max:
        return value
    columns = value.shape[-1]
    lead = (*value.shape[:-1], 1)
    tail = columns - 1 - torch.randint(0, min(TAIL, columns), lead, device=value.device)
    for place in (torch.randint(0, columns, lead, device=value.device), tail):
        value.scatter_(-1, place, torch.full(lead, height, dtype=value.dtype, device=value.device))
    return value


def disturbed(value: Any) -> Any:
    """The same input with other content: what a kernel that ignores this input would not notice."""
    if isinstance(value, torch.Tensor):
        other = clone(value)
        return other.zero_() if other.dtype is torch.bool or other.any() else other.fill_(1)
    return value


def serve(channel: Channel, config: dict[str, Any]) -> None:
    """Answer the service until it hangs up."""
    oracle: Oracle | None = None
    while True:
        try:
            message, _ = channel.receive()
        except Closed:
            return
        fds: list[int] = []
        try:
            if oracle is None:
                oracle = Oracle(config["operator_dir"], config["device"])
            oracle.transport.reclaim(message.get("released", []))
            if message["op"] in ("build", "rebuild", "expect", "drop", "construct"):
                reply, fds = getattr(oracle, message["op"])(message)
                oracle.transport.settle()
            else:
                reply = {"ready": True}
        except (Exception, SystemExit) as error:
            reply = {"error": f"{type(error).__name__}: {error}", "text": traceback.format_exc()[-4000:]}
        channel.send(reply, fds)
