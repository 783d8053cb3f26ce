import pytest
from kernelwright.errors import InputError
from kernelwright.operators import expressions


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * tokens + 1", 15),
        (12, 12),
        ("ceil_div(tokens, 2)", 4),
        ("prod(shape[:-1])", 6),
        ("sum_squares(shape)", 29),
        ("shape[-1] if tokens > 3 else 0", 4),
        ("8 / 2", 4),
    ],
)
def test_values(text: str | int, value: int) -> None:
    assert expressions.evaluate(text, {"tokens": 7, "shape": [2, 3, 4]}, "here") == value


@pytest.mark.parametrize(
    "text", ["7 / 2", "absent + 1", "__import__('os').getpid()", "tokens.bit_length()", "tokens >", "True"]
)
def test_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"operator.yaml: axes.x") as caught:
        expressions.evaluate(text, {"tokens": 7}, "operator.yaml: axes.x")
    assert "\n" not in str(caught.value)


def test_axes_may_use_earlier_axes() -> None:
    axes = expressions.evaluate_axes({"width": "shape[1]", "half": "width // 2"}, {"shape": [3, 8]}, "axes")
    assert axes == {"width": 8, "half": 4}
