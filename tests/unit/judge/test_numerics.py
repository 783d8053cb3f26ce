from __future__ import annotations

import pytest
import torch
from kernelwright.judge.numerics import carries_poison, compare
from kernelwright.judge.tolerance import default, limits_for

torch.manual_seed(0)
ORACLE = torch.randn(64, 256, dtype=torch.float64)
NAN, INF = float("nan"), float("inf")


def judged(actual: torch.Tensor, dtype: str = "float32", **contract: object):
    declared = ORACLE.to(getattr(torch, dtype))
    return compare("out", actual, declared, ORACLE, limits_for(dtype, contract))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16", "float8_e4m3fn"])
def test_the_rounded_oracle_passes(dtype: str) -> None:
    assert judged(ORACLE.to(getattr(torch, dtype)), dtype).reason is None


def test_half_precision_inside_is_lost_precision() -> None:
    found = judged(ORACLE.half().float())
    assert found.reason == "precision_loss"
    assert found.error_ratio is not None and found.error_ratio > 100


def test_fp8_inside_of_bfloat16_is_refused() -> None:
    assert judged(ORACLE.to(torch.float8_e4m3fn).bfloat16(), "bfloat16").reason in ("precision_loss", "wrong_values")


def test_a_second_rounding_to_the_declared_dtype_passes() -> None:
    twice = (ORACLE.bfloat16() * 3).to(torch.bfloat16) / 3
    assert judged(twice.bfloat16(), "bfloat16").reason is None


def test_one_wild_element_is_found() -> None:
    actual = ORACLE.float()
    actual[3, 5] += 0.01
    found = judged(actual)
    assert found.reason == "precision_loss" or found.reason == "wrong_values"
    assert "1 of 16384" in found.sentence
    assert found.worst_error == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("answer", [torch.zeros(64, 256), torch.full((64, 256), 0.1), ORACLE.float().roll(1, 0)])
def test_other_answers_are_wrong(answer: torch.Tensor) -> None:
    assert judged(answer).reason == "wrong_values"


def test_nan_is_no_wildcard() -> None:
    declared = ORACLE.float().clone()
    declared[0, :4] = torch.tensor([NAN, INF, -INF, 1.0])
    oracle = declared.double()
    limits = default("float32")
    assert compare("out", declared.clone(), declared, oracle, limits).reason is None
    for column, value in ((0, 0.0), (0, INF), (1, -INF), (1, 3e38), (3, NAN)):
        wrong = declared.clone()
        wrong[0, column] = value
        assert compare("out", wrong, declared, oracle, limits).reason == "wrong_nonfinite", (column, value)
    assert compare("out", torch.full_like(declared, NAN), declared, oracle, limits).reason == "wrong_nonfinite"


def test_better_than_an_overflowing_reference_is_right() -> None:
    oracle = ORACLE.clone()
    oracle[0, 0] = 5000.0
    declared = oracle.half()
    declared[0, 0] = INF  # the reference overflowed on its way
    assert compare("out", oracle.half(), declared, oracle, default("float16")).reason is None
    wrong = oracle.half()
    wrong[0, 0] = 1.0
    assert compare("out", wrong, declared, oracle, default("float16")).reason == "wrong_nonfinite"


def test_integers_are_exact_up_to_the_contract() -> None:
    wanted = torch.arange(100)
    other = wanted.clone()
    other[7] += 1
    assert compare("out", wanted, wanted, wanted, default("int64")).reason is None
    assert compare("out", other, wanted, wanted, default("int64")).reason == "wrong_values"
    assert compare("out", other, wanted, wanted, limits_for("int64", {"max_mismatch_ratio": 0.01})).reason is None
    assert compare("out", other, wanted, wanted, limits_for("int64", {"atol": 1})).reason is None


def test_bool_bytes_must_be_bools() -> None:
    wanted = torch.tensor([True, False])
    odd = torch.tensor([255, 0], dtype=torch.uint8).view(torch.bool)
    assert compare("out", wanted, wanted, wanted, default("bool")).reason is None
    assert compare("out", odd, wanted, wanted, default("bool")).reason == "wrong_values"


def test_set_per_row_ignores_the_order_of_ties() -> None:
    wanted = torch.tensor([[3, 1, 2], [5, 6, 4]])
    limits = limits_for("int64", {"compare": "set_per_row"})
    assert compare("ids", wanted.flip(-1), wanted, wanted, limits).reason is None
    assert compare("ids", wanted.flip(0), wanted, wanted, limits).reason == "wrong_values"


def test_quantised_mismatch_share_does_not_admit_wild_values() -> None:
    actual = ORACLE.to(torch.float8_e4m3fn).float()
    actual[0, :100] = 400.0
    found = judged(actual.to(torch.float8_e4m3fn), "float8_e4m3fn", max_mismatch_ratio=0.01)
    assert found.reason == "wrong_values"


def test_poison_shows_where_nothing_was_written() -> None:
    declared = ORACLE[:2].float()
    actual = declared.clone()
    assert not carries_poison(actual, declared, 0xFF)
    actual.view(torch.uint8).view(-1)[-4:] = 0xFF
    assert carries_poison(actual, declared, 0xFF)
    assert not carries_poison(actual, declared, 0x5A)


def test_empty_outputs_pass() -> None:
    empty = torch.empty(0, 4)
    assert compare("out", empty, empty, empty.double(), default("float32")).reason is None


def test_both_parts_of_complex_numbers_count() -> None:
    right = torch.randn(50, dtype=torch.complex128)
    declared = right.to(torch.complex64)
    limits = limits_for("complex64", None)
    assert compare("out", declared.clone(), declared, right, limits).reason is None
    assert compare("out", declared.real.to(torch.complex64), declared, right, limits).reason == "wrong_values"
    odd = declared.clone()
    odd.imag[3] = float("nan")
    assert compare("out", odd, declared, right, limits).reason == "wrong_nonfinite"
