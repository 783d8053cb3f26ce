"""Parameter spaces: name -> values, the default first. Order and choice depend on the seed alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import product
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


def sample(space: Space, count: int, seed: int, centre: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """`count` distinct sets (fewer when the space is smaller): the centre (default: the defaults), then shuffled sets
    one change away from it for half of the count, then random ones."""
    generator = random.Random(seed)
    start = dict(centre) if centre is not None else defaults(space)
    near = neighbours(space, start)
    generator.shuffle(near)
    chosen = [start, *near[: max(0, count // 2)]][:count]
    if size(space) <= 4 * count:
        far = [dict(zip(space, values, strict=True)) for values in product(*space.values())]
        generator.shuffle(far)
    else:
        far = [{name: generator.choice(list(values)) for name, values in space.items()} for _ in range(20 * count)]
    for candidate in far:
        if len(chosen) >= count:
            break
        if candidate not in chosen:
            chosen.append(candidate)
    return chosen
