from __future__ import annotations

import pytest
from kernelwright import artifacts
from kernelwright.errors import InputError
from kernelwright.knowledge import calibrate_device, calibration, platforms, roofline

HOST = {"digest": "0" * 16, "platform": "h200", "device": "NVIDIA H200", "driver": "1", "torch": "2", "method": 1}
MEASURED = {"confidence": "measured", "source": "test"}


def test_a_device_is_calibrated_to_the_best_of_each(tmp_path, monkeypatch):
    """On the CPU with a clock of fixed answers: what is tested is the arithmetic and the artifact."""
    monkeypatch.setattr(calibrate_device, "COPY_BYTES", (1024, 4096))
    monkeypatch.setattr(calibrate_device, "MATMUL_SIZES", (16, 32))
    ran = []

    def clock(call):
        ran.append(call())
        return 1e-6

    body = calibrate_device.measure(HOST, clock, device="cpu")
    artifacts.write(tmp_path / "d.json", "device_calibration", body)
    facts = body["facts"]
    assert facts["copy_bandwidth_gb_s"]["value"] == pytest.approx(4.096)
    assert facts["matmul_bf16_tflops"]["value"] == pytest.approx(2 * 32**3 / 1e6, rel=1e-3)
    assert facts["launch_us"]["value"] == 1.0
    assert len(ran) >= 2 + 8 + 1


def test_a_product_that_the_device_cannot_do_is_unknown_with_the_reason(monkeypatch):
    monkeypatch.setattr(calibrate_device, "MATMUL_SIZES", (16,))
    monkeypatch.setattr(calibrate_device, "MATMULS", (("float8_e9m9", "matmul_fp8_tflops", False),))
    rows = calibrate_device.matmuls(lambda call: 1.0, "cpu")
    assert rows[0]["tflops"] is None
    assert "float8_e9m9" in rows[0]["note"]
    facts = calibrate_device.facts_of([{"bytes": 1, "gb_s": 1.0}], rows, 1.0, "test")
    assert facts["matmul_fp8_tflops"]["confidence"] == "unknown"


def test_another_machines_platform_is_refused_and_known_nowhere(monkeypatch):
    monkeypatch.setattr(platforms, "nvidia_devices", list)
    with pytest.raises(InputError, match="--platform h200: this machine has no nvidia device"):
        calibration.path_of(platforms.load("h200"))
    assert calibration.known(platforms.load("h200")) == {}
    monkeypatch.setattr(platforms, "nvidia_devices", lambda: ["NVIDIA A100-SXM4-80GB"])
    with pytest.raises(InputError, match="the device here is 'NVIDIA A100-SXM4-80GB', platform a100"):
        calibration.path_of(platforms.load("h200"))


def test_the_command_shows_what_is_cached(tmp_path, monkeypatch, capsys):
    path = tmp_path / "calibration.json"
    host = {"digest": "0" * 16, "node": "n", "processor": "p", "cores": 1, "last_level_cache_bytes": None,
            "private_cache_bytes": None, "torch": "2", "method": 1}  # fmt: skip
    facts = {
        "launch_us": {"value": 0.5, **MEASURED},
        "cache_bandwidth_gb_s": {"value": None, "source": "s", "confidence": "unknown"},
    }
    settings = {"threads": 1, "seconds_per_size": 0.1}
    artifacts.write(path, "calibration", {"host": host, "facts": facts, "settings": settings, "duration_s": 1.0})
    monkeypatch.setattr(calibration, "path_of", lambda platform: path)
    assert calibration.main(["--platform", "cpu", "--output", str(tmp_path / "copy.json")]) == 0
    shown = capsys.readouterr().out
    assert "launch_us" in shown
    assert "unknown" in shown
    assert (tmp_path / "copy.json").read_bytes() == path.read_bytes()


def test_the_calibrated_floor_is_of_measured_facts_and_above_the_datasheets():
    facts = {
        "memory_bandwidth_gb_s": {"value": 4800.0, "confidence": "datasheet"},
        "peak_bf16_tflops": {"value": 989.0, "confidence": "datasheet"},
        "copy_bandwidth_gb_s": {"value": 4300.0, **MEASURED},
        "matmul_bf16_tflops": {"value": 790.0, **MEASURED},
        "launch_us": {"value": 4.2, **MEASURED},
    }
    traffic = {"read_bytes": 4_300_000_000, "write_bytes": 0, "flops": 10**9}
    bound, reached = (
        roofline.floor(traffic, ["bfloat16"], facts),
        roofline.calibrated_floor(traffic, ["bfloat16"], facts),
    )
    assert reached["memory_us"] == pytest.approx(1e3)
    assert reached["compute_us"] == pytest.approx(1e9 / 790 / 1e6, rel=1e-4)
    assert reached["floor_us"] > bound["floor_us"]
    small = roofline.calibrated_floor({"read_bytes": 8, "write_bytes": 8, "flops": 1}, ["bfloat16"], facts)
    assert (small["floor_us"], small["bound"]) == (4.2, "launch")


def test_without_measurements_there_is_no_calibrated_floor():
    facts = {"memory_bandwidth_gb_s": {"value": 4800.0, "confidence": "datasheet"}}
    found = roofline.calibrated_floor({"read_bytes": 8, "write_bytes": 8, "flops": 1}, ["bfloat16"], facts)
    assert (found["floor_us"], found["bound"]) == (None, "unknown")
