"""How far a result may lie from the oracle, by dtype, unless the operator's contract says otherwise.

Two limits hold at once. The RMS error over a tensor may be `budget` times the reference's own RMS error against the
oracle; that is what tells lost precision from another order of summation. And each element has a cap, `rtol` times the
oracle's magnitude plus `budget` times the reference's own worst error; that is what finds the few wild elements an RMS
hides. The reference's error is never taken below `floor` times the oracle's RMS, for a reference may be exact by luck.

| dtype | budget | rtol | floor | why |
| --- | --- | --- | --- | --- |
| float64 | 16 | 2^10 eps | eps | the oracle itself rounds as much: only gross errors show |
| float32 | 8 | 2^6 eps | eps | other summation orders differ by a few eps, fp16 or tf32 inside by over 1000 eps |
| float16, bfloat16 | 2 | 2 eps | eps/4 | a final rounding is eps/2 at worst, about eps/4 RMS; a second one fits |
| fp8 | 2 | 1 eps | eps/4 | one step of the grid, for values that lie near the middle between two |
| integers, bool | - | 0 | - | exact |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """Limits of one output. `atol` None: from the reference's own worst error."""

    budget: float
    rtol: float
    floor: float
    atol: float | None = None
    max_mismatch_ratio: float = 0.0
    compare: str = "values"


EPS = {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "complex64": 2.0**-23,  # of its real and imaginary parts
    "complex128": 2.0**-52,
    "float8_e4m3fn": 2.0**-3,
    "float8_e4m3fnuz": 2.0**-3,
    "float8_e5m2": 2.0**-2,
    "float8_e5m2fnuz": 2.0**-2,
}


def default(dtype: str) -> Limits:
    """Limits for a dtype by its torch name; exact for everything that is not floating."""
    eps = EPS.get(dtype)
    if eps is None:
        return Limits(budget=1.0, rtol=0.0, floor=0.0, atol=0.0)
    if dtype in ("float64", "complex128"):
        return Limits(budget=16.0, rtol=2.0**10 * eps, floor=eps)
    if dtype in ("float32", "complex64"):
        return Limits(budget=8.0, rtol=2.0**6 * eps, floor=eps)
    return Limits(budget=2.0, rtol=(1.0 if dtype.startswith("float8") else 2.0) * eps, floor=eps / 4)


def limits_for(dtype: str, contract: Mapping[str, Any] | None) -> Limits:
    """The default of the dtype, overridden by what the operator's contract declares for this output."""
    base = default(dtype)
    given = contract or {}
    return Limits(
        budget=float(given.get("error_budget", base.budget)),
        rtol=float(given.get("rtol", base.rtol)),
        floor=base.floor,
        atol=float(given["atol"]) if "atol" in given else base.atol,
        max_mismatch_ratio=float(given.get("max_mismatch_ratio", 0.0)),
        compare=str(given.get("compare", "values")),
    )
