"""Parameter spaces: name -> values, the default first. Order and choice depend on the seed alone."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

Space = Mapping[str, Sequence[Any]]


def defaults(space: Space) -> dict[str, Any]:
    return {name: values[0] for name, values in space.items()}


def size(space: Space) -> int:
    total = 1
    for values in space.values():
        total *= len(values)
    return total


def neighbours(space: Space, centre: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every set that differs from `centre` in one parameter, in the order of the space."""
    return [{**centre, name: value} for name, values in space.items() for value in values if value != centre.get(name)]


def walk(space: Space, seed: int | str, centre: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Every set of the space once: the centre (default: the defaults), then in turn a set one change away from it and
    one from anywhere, each in an order that the seed gives. A longer walk begins like a shorter one."""
    generator = random.Random(seed)
    start = {**defaults(space), **(centre or {})}
    near = neighbours(space, start)
    generator.shuffle(near)
    seen: set[tuple[Any, ...]] = set()
    for candidate in chain([start], _alternate(near, _anywhere(space, generator))):
        key = tuple(candidate[name] for name in space)
        if key not in seen:
            seen.add(key)
            yield candidate


def _alternate(near: list[dict[str, Any]], far: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for candidate in near:
        yield candidate
        yield from islice(far, 1)
    yield from far


def _anywhere(space: Space, generator: random.Random) -> Iterator[dict[str, Any]]:
    """Every set in random order, by its number in the product of the values."""
    for number in generator.sample(range(size(space)), size(space)):
        chosen = {}
        for name, values in space.items():
            number, index = divmod(number, len(values))
            chosen[name] = values[index]
        yield chosen
