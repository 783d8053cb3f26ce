from typing import Any

import pytest
from kernelwright.knowledge import roofline


def facts(confidence: str = "datasheet", **values: float | None) -> dict[str, Any]:
    return {
        name: {"value": value, "source": "test", "confidence": "unknown" if value is None else confidence}
        for name, value in values.items()
    }


def work(read: int | None, write: int | None, flops: int | None) -> dict[str, Any]:
    return {"read_bytes": read, "write_bytes": write, "flops": flops, "source": "declared"}


def test_three_bounds() -> None:
    known = facts(memory_bandwidth_gb_s=1000, last_level_cache_bytes=0, peak_bf16_tflops=100, launch_us=2)
    memory = roofline.floor(work(6_000_000, 4_000_000, 10**6), ["bfloat16"], known)
    assert memory == {"memory_us": 10.0, "compute_us": 0.01, "launch_us": 2.0, "floor_us": 10.0, "bound": "memory"}
    assert roofline.floor(work(6_000_000, 0, 2 * 10**9), ["bfloat16"], known)["floor_us"] == pytest.approx(20)
    assert roofline.floor(work(10, 0, 10), ["bfloat16"], known)["bound"] == "launch"


def test_unknown_stays_unknown() -> None:
    nothing = facts(memory_bandwidth_gb_s=None, launch_us=2)
    floor = roofline.floor(work(10, 10, 10), ["float32"], nothing)
    assert floor == {"memory_us": None, "compute_us": None, "launch_us": 2.0, "floor_us": None, "bound": "unknown"}
    known = facts(memory_bandwidth_gb_s=1000, last_level_cache_bytes=0)
    assert roofline.floor(work(None, None, None), ["float32"], known)["floor_us"] is None
    partly = roofline.floor(work(None, 5_000_000, None), ["float32"], known)
    assert (partly["memory_us"], partly["compute_us"], partly["bound"]) == (5.0, None, "memory")
    assert roofline.unknown_facts(nothing, ("memory_bandwidth_gb_s", "launch_us")) == ["memory_bandwidth_gb_s"]


def test_written_bytes_may_stay_in_the_cache_of_an_accelerator() -> None:
    known = facts(memory_bandwidth_gb_s=1000, last_level_cache_bytes=1_000_000)
    assert roofline.memory_us(3_000_000, 800_000, known) == 3.0
    assert roofline.memory_us(3_000_000, 5_000_000, known) == 7.0


def test_processor_floor_uses_the_cache_that_may_hold_the_bytes() -> None:
    known = facts(
        memory_bandwidth_gb_s=50,
        cache_bandwidth_gb_s=200,
        private_cache_bandwidth_gb_s=400,
        private_cache_bytes=1_000_000,
        last_level_cache_bytes=10_000_000,
    )
    assert roofline.memory_us(400_000, 400_000, known) == pytest.approx(2.0)
    assert roofline.memory_us(5_000_000, 0, known) == pytest.approx(2.5 + 20)
    assert roofline.memory_us(30_000_000, 0, known) == pytest.approx(2.5 + 45 + 400)
    sizes = [10**power for power in range(3, 9)]
    times = [roofline.memory_us(size, 0, known) or 0 for size in sizes]
    assert times == sorted(times)
    assert all(size / time <= 400e3 * 1.0001 for size, time in zip(sizes, times, strict=True))


def test_a_slower_cache_reading_never_raises_the_floor() -> None:
    noisy = facts(memory_bandwidth_gb_s=50, cache_bandwidth_gb_s=20, private_cache_bandwidth_gb_s=10,
                  private_cache_bytes=1000, last_level_cache_bytes=100_000)  # fmt: skip
    assert roofline.memory_us(50_000, 0, noisy) == pytest.approx(1.0)


def test_measured_facts_leave_headroom() -> None:
    sure = roofline.memory_us(10**6, 0, facts(memory_bandwidth_gb_s=100))
    measured = roofline.memory_us(10**6, 0, facts("measured", memory_bandwidth_gb_s=100))
    assert sure == pytest.approx((measured or 0) * roofline.MEASURED_HEADROOM)
    assert roofline.launch_us(facts("measured", launch_us=1.25)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("dtypes", "peak"),
    [
        (["float32", "bfloat16"], 100),
        (["float32"], 40),  # tf32 units can serve float32
        (["float8_e4m3fn", "float32"], None),  # unknown is not replaced by a wider type's peak
        (["bfloat16|float16"], 100),
        (["int64"], None),
    ],
)
def test_peak_is_of_the_narrowest_type(dtypes: list[str], peak: float | None) -> None:
    known = facts(peak_fp32_tflops=20, peak_tf32_tflops=40, peak_bf16_tflops=100, peak_fp8_tflops=None)
    assert roofline.peak_tflops(dtypes, known) == peak
