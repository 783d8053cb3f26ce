"""New values in input sets, in place: for each timed round some that no kernel has seen before.

Whole sets change places, rows move, and the low bits of each floating element's mantissa are turned by secret noise, so
that an element changes by up to a sixteenth but keeps its sign and binade; an fp8 element has one such bit. Zeros,
denormal and non-finite values keep their meaning and so their bits. Inputs marked `index`, and floating inputs that hold
only whole numbers or only few bits, keep theirs. `OracleClient.rebuild` gives these new values too, and costs more.
"""

from __future__ import annotations

import secrets
from typing import Any

import torch

from kernelwright.judge.inputs import InputSets

BY_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
LOW_BITS = {
    "float64": (1 << 48) - 1,
    "float32": (1 << 19) - 1,
    "float16": (1 << 6) - 1,
    "bfloat16": (1 << 3) - 1,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
}
EXPONENTS = {
    "float64": 0x7FF << 52,
    "float32": 0xFF << 23,
    "float16": 0x1F << 10,
    "bfloat16": 0xFF << 7,
    "float8_e4m3fn": 0xF << 3,
    "float8_e4m3fnuz": 0xF << 3,
}
SLACK = 1 << 16  # elements of noise beyond the largest input: each round begins somewhere else in it


class Changes:
    """Changes the values of one group of input sets, again and again."""

    def __init__(self, sets: InputSets, declared: dict[str, dict[str, Any]]) -> None:
        self.sets = sets
        self.declared = declared
        self.noise: dict[str, torch.Tensor] = {}
        self.special: dict[int, bool] = {}  # position of an input that is turned: has it zeros or non-finite values
        self.look()

    def look(self) -> None:
        """Which inputs can be turned; again after they were built anew."""
        self.special = {}
        for position, spec in enumerate(self.sets.specs[0]):
            if self._moves(spec) and spec["dtype"] in LOW_BITS:
                values = self.sets.arena.view(spec)
                if is_generic(values, spec["dtype"]):
                    self.special[position] = has_special(values, spec["dtype"])

    def _moves(self, spec: dict[str, Any]) -> bool:
        """Floating inputs that are no indices move from row to row."""
        if "scalar" in spec or not spec["span"] or self.declared.get(spec["name"], {}).get("index"):
            return False
        return bool(getattr(torch, spec["dtype"]).is_floating_point)

    def turn(self) -> None:
        """New values at every address without leaving the operator's domain."""
        count = len(self.sets.specs)
        step = secrets.randbelow(count) if count > 1 else 0
        for position, spec in enumerate(self.sets.specs[0]):
            if "scalar" in spec or not spec["span"]:
                continue
            dim = next((index for index, size in enumerate(spec["shape"]) if size > 1), None)
            shift = 1 + secrets.randbelow(spec["shape"][dim] - 1) if self._moves(spec) and dim is not None else 0
            tensors = stacked(self.sets, position)
            roll(tensors, step, dim, shift)
            if position in self.special:
                self._disturb(tensors, spec["dtype"], self.special[position])

    def echo(self) -> bool:
        """Nearly the same values again, in the same places: a few elements turned, of one input or of all. False: none."""
        positions = list(self.special)
        single = len(positions) > 1 and secrets.randbelow(2) == 1
        for position in [secrets.choice(positions)] if single else positions:
            tensors, dtype = stacked(self.sets, position), self.sets.specs[0][position]["dtype"]
            self._disturb(tensors, dtype, self.special[position], few=True)
        return bool(positions)

    def _disturb(
        self, tensors: torch.Tensor | list[torch.Tensor], dtype: str, special: bool, few: bool = False
    ) -> None:
        """Turn low bits of the mantissas, in all sets of one layout in the same way; `few`: of one element in 16."""
        together = isinstance(tensors, torch.Tensor)
        for part in [tensors] if isinstance(tensors, torch.Tensor) else tensors:
            bits = part if together else part.view(BY_SIZE[part.element_size()])
            shape = bits.shape[1:] if together else bits.shape
            noise = self._noise(dtype, shape.numel(), bits.device).view(shape)
            if few:
                turned = made_noise("float64", shape.numel(), bits.device).view(shape) % 16 == 0
                noise = noise * turned
            if special:
                exponent = bits & EXPONENTS[dtype]
                noise = noise * ((exponent != 0) & (exponent != EXPONENTS[dtype]))
            bits ^= noise

    def _noise(self, dtype: str, count: int, device: torch.device) -> torch.Tensor:
        """So many secret integers of the dtype's size with low bits alone, another stretch of them each time."""
        known = self.noise.get(dtype)
        if known is None or known.numel() < count + SLACK:
            known = self.noise[dtype] = made_noise(dtype, count + SLACK, device)
        start = secrets.randbelow(known.numel() - count + 1)
        return known[start : start + count]


def made_noise(dtype: str, count: int, device: torch.device) -> torch.Tensor:
    size = getattr(torch, dtype).itemsize
    generator = torch.Generator(device=device)
    generator.manual_seed(secrets.randbits(63))
    words = -(-count * size // 8)
    raw = torch.randint(-(1 << 63), (1 << 63) - 1, (words,), dtype=torch.int64, device=device, generator=generator)
    return raw.view(BY_SIZE[size])[:count].bitwise_and_(LOW_BITS[dtype])


def is_generic(values: torch.Tensor, dtype: str) -> bool:
    """False for whole numbers, and for values with zeros in the low bits, such as powers of two: they may have to be."""
    bits = values.view(BY_SIZE[values.element_size()])
    if not bool((bits & LOW_BITS[dtype]).any()):
        return False
    wide = values.float() if values.element_size() < 4 else values
    return not bool((wide == wide.round()).all())


def has_special(values: torch.Tensor, dtype: str) -> bool:
    """Zeros, denormal or non-finite values among them."""
    exponent = values.view(BY_SIZE[values.element_size()]) & EXPONENTS[dtype]
    return bool(((exponent == 0) | (exponent == EXPONENTS[dtype])).any())


def stacked(sets: InputSets, position: int) -> list[torch.Tensor] | torch.Tensor:
    """One input over all sets as (sets, *shape) without copying, or a list where the sets' layouts differ."""
    first = sets.specs[0][position]
    size = torch.empty((), dtype=getattr(torch, first["dtype"])).element_size()
    layouts = [(one[position]["shape"], one[position]["stride"]) for one in sets.specs]
    offsets = [one[position]["offset"] for one in sets.specs]
    pitch = offsets[1] - offsets[0] if len(offsets) > 1 else 0
    regular = all(offset == offsets[0] + index * pitch for index, offset in enumerate(offsets)) and pitch % size == 0
    if not regular or size not in BY_SIZE or any(layout != layouts[0] for layout in layouts):
        return [sets.arena.view(one[position]) for one in sets.specs]
    end = sets.arena.size // size * size
    flat = sets.arena.bytes[offsets[0] % size : end].view(BY_SIZE[size])
    return flat.as_strided((len(offsets), *first["shape"]), (pitch // size, *first["stride"]), offsets[0] // size)


def roll(tensors: list[torch.Tensor] | torch.Tensor, step: int, dim: int | None, shift: int) -> None:
    if isinstance(tensors, torch.Tensor):
        dims = (0,) if dim is None else (0, dim + 1)
        if step or shift:
            tensors.copy_(torch.roll(tensors, (step, shift)[: len(dims)], dims))
        return
    for tensor in tensors:
        if dim is not None and shift and tensor.dim() > dim:
            tensor.copy_(torch.roll(tensor, shift, dim))
