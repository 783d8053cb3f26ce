from __future__ import annotations

import torch
from kernelwright.judge import precision


def test_casts_and_factories_inside_become_float64() -> None:
    x = torch.randn(8, 8).bfloat16()
    with precision.in_float64():
        wide = precision.promoted({"x": x}, torch.float64)["x"]
        for value in (
            wide.float(),
            wide.half(),
            wide.to(torch.bfloat16),
            wide.to(dtype=torch.float32),
            wide.type(torch.float16),
            torch.zeros(2, dtype=torch.float32),
            torch.tensor(1.0),
            torch.softmax(wide, -1, dtype=torch.float32),
        ):
            assert value.dtype is torch.float64
        assert wide.to(torch.float8_e4m3fn).dtype is torch.float8_e4m3fn
        assert wide.to(torch.int32).dtype is torch.int32
    assert torch.get_default_dtype() is torch.float32
    assert torch.ones(1).half().dtype is torch.float16


def test_promoted_keeps_strides_values_and_what_is_not_floating() -> None:
    x = torch.randn(4, 6)[:, ::2]
    ids = torch.arange(3)
    fp8 = torch.ones(2).to(torch.float8_e4m3fn)
    found = precision.promoted({"x": x, "ids": ids, "fp8": fp8, "eps": 0.5}, torch.float64)
    assert found["x"].dtype is torch.float64 and found["x"].stride() == x.stride()
    assert torch.equal(found["x"].float(), x)
    assert found["ids"].dtype is torch.int64 and found["ids"].data_ptr() != ids.data_ptr()
    assert found["fp8"].dtype is torch.float8_e4m3fn and found["eps"] == 0.5
