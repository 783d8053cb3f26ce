"""Compare a kernel's output with the reference (declared dtype) and the oracle (float64)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from kernelwright.judge.tolerance import Limits

LOST_PRECISION_RMS = 0.02  # an error that is small everywhere is lost precision; a larger one is another result
PIECE_ELEMENTS = 1 << 16  # 512 KiB in float64


@dataclass(frozen=True)
class Comparison:
    """Outcome for one output; reason None is a pass."""

    reason: str | None
    sentence: str = ""
    worst_error: float | None = None  # largest absolute error against the oracle
    error_ratio: float | None = None  # RMS error over the reference's own


def compare(
    name: str, actual: torch.Tensor, declared: torch.Tensor, oracle: torch.Tensor, limits: Limits
) -> Comparison:
    """Judge one tensor. All three have the same shape; `actual` and `declared` the same dtype."""
    if actual.numel() == 0:
        return Comparison(None, worst_error=0.0, error_ratio=0.0)
    if declared.is_complex():
        actual, declared, oracle = (torch.view_as_real(item.resolve_conj()) for item in (actual, declared, oracle))
    if limits.compare == "set_per_row" and actual.dim():
        actual, declared, oracle = (torch.sort(wide(item), dim=-1).values for item in (actual, declared, oracle))
    elif not declared.is_floating_point():
        return compare_exact(name, actual, declared, oracle, limits)
    return compare_floating(name, actual, declared, oracle, limits)


def wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.float64)


def compare_exact(
    name: str, actual: torch.Tensor, declared: torch.Tensor, oracle: torch.Tensor, limits: Limits
) -> Comparison:
    """Integers and bools: equal to the reference or to the oracle, up to `atol`, but for the declared share."""
    if declared.dtype is torch.bool:
        actual = actual.view(torch.uint8)  # a bool byte other than 0 and 1 is neither
    distance = (wide(actual) - wide(declared)).abs()
    if oracle.dtype == declared.dtype:
        distance = torch.minimum(distance, (wide(actual) - wide(oracle)).abs())
    wrong = ~(distance <= (limits.atol or 0.0))
    ratio = wrong.double().mean().item()
    worst = distance.max().item()
    if not ratio <= limits.max_mismatch_ratio:
        return Comparison(
            "wrong_values", f"{name}: {ratio:.3%} of the elements differ, worst by {worst:g}", worst, None
        )
    return Comparison(None, worst_error=worst)


def compare_floating(
    name: str, actual: torch.Tensor, declared: torch.Tensor, oracle: torch.Tensor, limits: Limits
) -> Comparison:
    """Each element's cap, then the RMS error against the reference's own; non-finite masks first, where there are any.

    `actual`, `declared` and `oracle` have any one shape. RMS is over the elements that can be compared.
    """
    pieces = list(zip(*map(in_pieces, (actual, declared, oracle)), strict=True))
    measured = [measure(*piece) for piece in pieces]
    if not all(part.finite for part in measured):
        actual, declared, oracle = map(wide, (actual, declared, oracle))
        bad = nonfinite_mismatch(actual, declared, oracle)
        if bad:
            return Comparison(
                "wrong_nonfinite",
                f"{name}: {bad} elements are NaN or infinite where the reference is not, or the reverse",
            )
        compared = torch.isfinite(declared) & torch.isfinite(oracle)
        if not compared.any():
            return Comparison(None, worst_error=None, error_ratio=None)
        kept = actual[compared], declared[compared], oracle[compared]
        pieces = list(zip(*map(in_pieces, kept), strict=True))
        measured = [measure(*piece) for piece in pieces]
    count = sum(part.count for part in measured)
    rms, own_rms, error_rms = (
        (sum(getattr(part, key) for part in measured) / count) ** 0.5
        for key in ("square", "own_square", "error_square")
    )
    own_rms = max(own_rms, limits.floor * rms)
    own_worst = max(part.own_worst for part in measured)
    atol = limits.atol if limits.atol is not None else limits.budget * max(own_worst, limits.floor * rms)
    over = sum(
        over_cap(piece[0], piece[2], limits.rtol, atol)
        for piece, part in zip(pieces, measured, strict=True)
        if not part.error_worst <= atol
    )
    ratio = error_rms / own_rms if own_rms > 0 else (0.0 if error_rms == 0 else float("inf"))
    worst = max(part.error_worst for part in measured)
    return verdict(name, over, count, worst, error_rms, rms, ratio, limits)


def in_pieces(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The elements in a row, on a CPU in parts whose float64 copies stay in its cache."""
    flat = tensor.reshape(-1)
    return flat.split(PIECE_ELEMENTS) if tensor.device.type == "cpu" else (flat,)


@dataclass(frozen=True)
class Measured:
    """Sums of squares and largest magnitudes of the oracle's values, of the reference's errors and of the kernel's."""

    count: int
    square: float
    own_square: float
    error_square: float
    own_worst: float
    error_worst: float

    @property
    def finite(self) -> bool:
        """False when an element is NaN or infinite; False too where a square overflows."""
        return math.isfinite(self.square + self.own_square + self.error_square)


def measure(actual: torch.Tensor, declared: torch.Tensor, oracle: torch.Tensor) -> Measured:
    oracle = wide(oracle)
    own, error = wide(declared) - oracle, wide(actual) - oracle
    squares = [torch.dot(item, item) for item in (oracle, own, error)]
    worst = [torch.linalg.vector_norm(item, ord=math.inf) for item in (own, error)]
    return Measured(oracle.numel(), *torch.stack(squares + worst).tolist())


def over_cap(actual: torch.Tensor, oracle: torch.Tensor, rtol: float, atol: float) -> int:
    """Elements whose error is over `rtol` of the oracle's magnitude plus `atol`."""
    oracle = wide(oracle)
    error = (wide(actual) - oracle).abs_()
    return int((~(error <= oracle.abs().mul_(rtol).add_(atol))).sum())


def nonfinite_mismatch(actual: torch.Tensor, declared: torch.Tensor, oracle: torch.Tensor) -> int:
    """Elements whose class (finite, NaN, +inf, -inf) is not the reference's.

    Where only the declared dtype overflowed, a finite value is right too: a kernel may be better than the reference.
    """
    finite = torch.isfinite(actual)
    same = torch.where(
        torch.isnan(declared), torch.isnan(actual), (actual == declared) | (finite & torch.isfinite(declared))
    )
    better = (
        ~torch.isfinite(declared) & torch.isfinite(oracle) & finite & ((actual - oracle).abs() <= 0.02 * oracle.abs())
    )
    return int((~(same | better)).sum())


def verdict(
    name: str, over: int, count: int, worst: float, error_rms: float, rms: float, ratio: float, limits: Limits
) -> Comparison:
    finite_ratio = ratio if ratio < float("inf") else None
    gentle = error_rms <= LOST_PRECISION_RMS * rms and worst <= 0.2 * max(rms, 1e-300)
    reason = "precision_loss" if gentle else "wrong_values"
    if not over / count <= limits.max_mismatch_ratio:
        sentence = f"{name}: {over} of {count} elements are too far off, worst by {worst:.3g}"
        return Comparison(reason, sentence, worst, finite_ratio)
    if not ratio <= limits.budget:
        sentence = f"{name}: RMS error is {ratio:.3g} times the reference's own, allowed {limits.budget:g}"
        return Comparison(reason, sentence, worst, finite_ratio)
    return Comparison(None, "", worst, finite_ratio)


def carries_poison(actual: torch.Tensor, declared: torch.Tensor, poison: int) -> bool:
    """True when an element that differs from the reference is exactly the byte that new memory was filled with."""
    size = actual.element_size()
    raw, wanted = (item.contiguous().view(-1).view(torch.uint8).view(-1, size) for item in (actual, declared))
    return bool(((raw == poison).all(dim=1) & (raw != wanted).any(dim=1)).any())
