"""Integer expressions over named values: axes, shapes, bytes and FLOPs of an operator. Python's eval is not used."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from kernelwright.errors import InputError

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "len": len,
    "prod": math.prod,
    "sum_squares": lambda values: sum(value * value for value in values),
    "ceil_div": lambda value, step: -(-value // step),
}


def evaluate(expression: str | int, names: Mapping[str, Any], where: str) -> int:
    """Value of an integer expression such as `tokens * ceil_div(hidden, 128)`.

    Allowed: numbers, the given names, + - * / // % **, comparisons, `a if c else b`, list indices and slices, and
    min, max, sum, len, prod, sum_squares, ceil_div. Raises InputError starting with `where` when it does not evaluate
    to a whole number.
    """
    if isinstance(expression, int) and not isinstance(expression, bool):
        return expression
    from simpleeval import EvalWithCompoundTypes

    evaluator = EvalWithCompoundTypes(names=dict(names), functions=FUNCTIONS)
    evaluator.nodes.pop(ast.Attribute)  # no methods
    try:
        value = evaluator.eval(str(expression))
        whole = int(value)
    except Exception as error:
        known = ", ".join(sorted(names)) or "none"
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{where}: {expression!r} cannot be evaluated ({line}); known names: {known}") from None
    if isinstance(value, bool) or whole != value:
        raise InputError(f"{where}: {expression!r} is {value!r}, expected a whole number")
    return whole


def evaluate_axes(axes: Mapping[str, str | int], names: Mapping[str, Any], where: str) -> dict[str, int]:
    """Axes in declaration order; an axis may use kwargs and the axes before it."""
    known: dict[str, Any] = dict(names)
    values: dict[str, int] = {}
    for axis, expression in axes.items():
        values[axis] = known[axis] = evaluate(expression, known, f"{where}.{axis}")
    return values
