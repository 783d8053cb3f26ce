"""Compare a kernel's output with the reference (declared dtype) and the oracle (float64)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernelwright.judge.tolerance import Limits

LOST_PRECISION_RMS = 0.02  # an error that is small everywhere is lost precision; a larger one is another result


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
    return compare_floating(name, wide(actual), wide(declared), wide(oracle), limits)


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
    """Non-finite masks first, then each element's cap, then the RMS error against the reference's own.

    `actual`, `declared` and `oracle` are float64, of any one shape. RMS is over the elements that can be compared.
    """
    own, error, magnitude = declared - oracle, actual - oracle, oracle.abs()
    count = oracle.numel()
    if not all(map(all_finite, (actual, declared, oracle))):
        bad = nonfinite_mismatch(actual, declared, oracle)
        if bad:
            return Comparison(
                "wrong_nonfinite",
                f"{name}: {bad} elements are NaN or infinite where the reference is not, or the reverse",
            )
        compared = torch.isfinite(declared) & torch.isfinite(oracle)
        count = int(compared.sum())
        if not count:
            return Comparison(None, worst_error=None, error_ratio=None)
        own, error, magnitude = (item.masked_fill_(~compared, 0.0) for item in (own, error, magnitude))
    own, error = own.abs_(), error.abs_()
    rms, own_rms, error_rms = (item.norm().item() / count**0.5 for item in (magnitude, own, error))
    own_rms = max(own_rms, limits.floor * rms)
    atol = limits.atol if limits.atol is not None else limits.budget * max(own.max().item(), limits.floor * rms)
    over = ~(error <= magnitude.mul_(limits.rtol).add_(atol))
    ratio = error_rms / own_rms if own_rms > 0 else (0.0 if error_rms == 0 else float("inf"))
    return verdict(name, over, error, error_rms, rms, ratio, limits)


def all_finite(tensor: torch.Tensor) -> bool:
    """True when no element is NaN or infinite; False too where the sum overflows. Faster than looking at each."""
    return bool(torch.isfinite(tensor.sum()))


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
    name: str, over: torch.Tensor, error: torch.Tensor, error_rms: float, rms: float, ratio: float, limits: Limits
) -> Comparison:
    worst = error.max().item()
    finite_ratio = ratio if ratio < float("inf") else None
    share = over.double().mean().item()
    gentle = error_rms <= LOST_PRECISION_RMS * rms and worst <= 0.2 * max(rms, 1e-300)
    reason = "precision_loss" if gentle else "wrong_values"
    if not share <= limits.max_mismatch_ratio:
        count = int(over.sum())
        return Comparison(
            reason,
            f"{name}: {count} of {over.numel()} elements are too far off, worst by {worst:.3g}",
            worst,
            finite_ratio,
        )
    if not ratio <= limits.budget:
        return Comparison(
            reason,
            f"{name}: RMS error is {ratio:.3g} times the reference's own, allowed {limits.budget:g}",
            worst,
            finite_ratio,
        )
    return Comparison(None, "", worst, finite_ratio)


def carries_poison(actual: torch.Tensor, declared: torch.Tensor, poison: int) -> bool:
    """True when an element that differs from the reference is exactly the byte that new memory was filled with."""
    size = actual.element_size()
    raw, wanted = (item.contiguous().view(-1).view(torch.uint8).view(-1, size) for item in (actual, declared))
    return bool(((raw == poison).all(dim=1) & (raw != wanted).any(dim=1)).any())
