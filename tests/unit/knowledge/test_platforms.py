from pathlib import Path
from typing import Any

import pytest
from kernelwright import paths
from kernelwright.errors import InputError
from kernelwright.knowledge import platforms

NAMES = [
    *("a100", "b200", "b300", "cpu", "h100", "h100_pcie", "h20", "h200", "h20_3e", "l20", "l40s"),
    *("mi300x", "mi308x", "mi325x", "mi355x", "rtx_4090", "rtx_5090", "rtx_pro_5000", "zwm890p"),
]
UNITS = ("_gb_s", "_bytes", "_bytes_per_unit", "_tflops", "_tops", "_mhz", "_us", "compute_units")
SAMPLE = """
schema_version: 1
name: sample
vendor: nvidia
architecture: hopper
summary: A chip.
frameworks: [triton]
workload_set: published
sources:
  sheet: {kind: vendor, title: The sheet, url: "https://example.org/sheet"}
  blog: {kind: third_party, title: Some blog, date: 2025-01}
facts:
  peak_bf16_tflops: {value: 100, source: sheet, confidence: datasheet}
  peak_fp8_tflops: {value: 200, source: blog, confidence: reported, note: dense}
  launch_us: {value: null, confidence: unknown, note: nobody says}
"""


def read_text(folder: Path, text: str) -> platforms.Platform:
    path = folder / "sample.yaml"
    path.write_text(text)
    platforms.read.cache_clear()
    return platforms.read(path)


def test_every_platform_of_the_vocabulary_is_there() -> None:
    assert platforms.available() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_has_a_unit_and_a_source(name: str) -> None:
    platform = platforms.load(name)
    assert platform.name == name
    assert platform.frameworks
    for fact, body in platform.facts.items():
        assert fact.endswith(UNITS), fact
        assert set(body) == {"value", "source", "confidence"}
        assert (body["value"] is None) == (body["confidence"] == "unknown"), fact
        assert len(body["source"]) > 5, fact
        assert platform.value(fact) == body["value"]
    assert platform.value("no_such_fact") is None


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cpu"])
def test_chips_list_the_same_facts(name: str) -> None:
    extra = {"copy_bandwidth_gb_s", "matmul_bf16_tflops"}
    assert set(platforms.load(name).facts) - extra == set(platforms.load("a100").facts)


def test_names_aliases_and_devices_are_nobody_elses() -> None:
    everyone = platforms.everyone()
    names = [name for one in everyone for name in (one.name, *one.aliases)]
    devices = [device.lower() for one in everyone for device in one.device_names]
    assert len(names) == len(set(names)) and "auto" not in names
    assert len(devices) == len(set(devices))


def test_chips_of_one_architecture_have_equal_units() -> None:
    for fact in ("shared_memory_bytes_per_unit", "register_bytes_per_unit"):
        seen: dict[str, set[Any]] = {}
        for one in platforms.everyone():
            if one.value(fact) is not None:
                seen.setdefault(one.architecture, set()).add(one.value(fact))
        assert all(len(values) == 1 for values in seen.values()), (fact, seen)


def test_siblings_keep_their_own_figures() -> None:
    bandwidth = {name: platforms.load(name).value("memory_bandwidth_gb_s") for name in NAMES}
    for pair in (("h100", "h100_pcie"), ("h100", "h200"), ("h20", "h20_3e"), ("mi300x", "mi325x"), ("l20", "rtx_4090")):
        assert bandwidth[pair[0]] != bandwidth[pair[1]], pair
    assert platforms.load("h100").value("compute_units") == 132
    assert platforms.load("h100_pcie").value("compute_units") == 114
    assert platforms.load("h20").value("peak_bf16_tflops") < platforms.load("h100").value("peak_bf16_tflops") / 6
    assert platforms.load("mi308x").value("memory_bandwidth_gb_s") is None


def test_source_in_words(tmp_path: Path) -> None:
    facts = read_text(tmp_path, SAMPLE).facts
    assert facts["peak_bf16_tflops"] == {
        "value": 100,
        "source": "The sheet, https://example.org/sheet",
        "confidence": "datasheet",
    }
    assert facts["peak_fp8_tflops"]["source"] == "Some blog, 2025-01; dense"
    assert facts["peak_fp8_tflops"]["confidence"] == "reported"
    assert facts["launch_us"] == {"value": None, "source": "nobody says", "confidence": "unknown"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "value: 200",
            "value: 50",
            "facts.peak_fp8_tflops.value: 50; allowed: at least 100, which is peak_bf16_tflops",
        ),
        ("value: 200", "value: -1", "facts.peak_fp8_tflops.value: -1; allowed: above 0"),
        ("value: 200", "value: fast", "facts.peak_fp8_tflops.value: 'fast'; allowed: a number, null, measure"),
        ("value: 200", "value: null", 'facts.peak_fp8_tflops.confidence: "reported" is not one of unknown'),
        ("value: 100", "value: null", "facts.peak_bf16_tflops: missing key 'note'"),
        ("source: blog, ", "", "facts.peak_fp8_tflops: missing key 'source'"),
        ("source: blog", "source: rumour", "facts.peak_fp8_tflops.source: 'rumour' is not one of sheet, blog"),
        ("confidence: datasheet", "confidence: reported", "of kind 'vendor'; allowed kinds: third_party"),
        ("confidence: reported", "confidence: datasheet", "of kind 'third_party'; allowed kinds: vendor"),
        ("confidence: reported", "confidence: certain", '"certain" is not one of measured, datasheet, reported'),
        (", date: 2025-01", "", "sources.blog: missing key 'date' or 'url'"),
        ("launch_us:", "launch_ms:", "facts: unknown key 'launch_ms'; allowed: .*launch_us"),
        ("architecture: hopper", "architecture: hoper", 'architecture: "hoper" is not one of host, ampere'),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_text(tmp_path, SAMPLE.replace(old, new, 1))
    assert "sample.yaml: " in str(caught.value) and "\n" not in str(caught.value)


def test_a_source_that_no_fact_names_is_refused(tmp_path: Path) -> None:
    text = SAMPLE.replace("facts:", "  idle: {kind: vendor, title: Unused sheet, date: 2025-01}\nfacts:", 1)
    with pytest.raises(InputError, match=r"sources.idle: no fact names it"):
        read_text(tmp_path, text)


def test_only_the_processor_is_measured_at_run_time() -> None:
    measured = {name for name in NAMES if any(f["value"] == "measure" for f in platforms.load(name).facts.values())}
    assert measured == {"cpu"}


def test_alias_and_refusal() -> None:
    assert platforms.load("ppu").name == "zwm890p"
    for name in ("h300", "H100", "h100 ", "h10", "../cpu", ""):
        with pytest.raises(InputError, match="is not known; allowed: auto, a100, b200, b300, cpu"):
            platforms.load(name)


def test_an_alias_of_two_platforms_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "platforms_dir", lambda: tmp_path)
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(SAMPLE.replace("name: sample", f"name: {name}\naliases: [both]"))
    with pytest.raises(InputError, match="'both' is an alias of several; allowed: one, two"):
        platforms.load("both")


@pytest.mark.parametrize(
    ("device", "vendor", "name"),
    [
        ("NVIDIA H200", "nvidia", "h200"),
        ("NVIDIA H20", "nvidia", "h20"),
        ("NVIDIA H20-3e", "nvidia", "h20_3e"),
        ("NVIDIA H100 PCIe", "nvidia", "h100_pcie"),
        ("NVIDIA H100 80GB HBM3", "nvidia", "h100"),
        ("NVIDIA A100-SXM4-80GB", "nvidia", "a100"),
        ("AMD Instinct MI300X OAM", "amd", "mi300x"),
    ],
)
def test_driver_names(device: str, vendor: str, name: str) -> None:
    assert platforms.match_device(device, vendor) == name


@pytest.mark.parametrize(
    "device",
    ["NVIDIA H2", "NVIDIA H200 NVL", "NVIDIA H100 NVL", "NVIDIA GeForce RTX 4090 D", "NVIDIA L40", "NVIDIA GB200"],
)
def test_a_sibling_is_not_taken_for_the_product(device: str) -> None:
    with pytest.raises(InputError, match=f"the driver names '{device}', which no file in .* lists"):
        platforms.match_device(device, "nvidia")


def test_detection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "nvidia_devices", list)
    monkeypatch.setattr(platforms, "amd_devices", list)
    assert platforms.detect() == "cpu"
    assert platforms.load("auto").name == "cpu"
    monkeypatch.setattr(platforms, "nvidia_devices", lambda: ["NVIDIA H200"])
    assert platforms.detect() == "h200"
    monkeypatch.setattr(platforms, "nvidia_devices", lambda: ["NVIDIA GeForce RTX 9090"])
    with pytest.raises(InputError, match="the driver names 'NVIDIA GeForce RTX 9090'"):
        platforms.detect()


def test_rocm_names(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["Marketing Name:          AMD EPYC 9654", "Marketing Name:          AMD Instinct MI300X"]
    monkeypatch.setattr(platforms, "tool_lines", lambda argv: lines)
    assert platforms.amd_devices() == ["AMD Instinct MI300X"]


def test_a_missing_tool_is_no_device() -> None:
    assert platforms.tool_lines(["no-such-tool-here"]) == []
    assert platforms.tool_lines(["false"]) == []


def test_file_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "platforms_dir", lambda: tmp_path)
    text = (paths.project_root() / "config" / "platforms" / "h20.yaml").read_text()
    (tmp_path / "other.yaml").write_text(text)
    with pytest.raises(InputError, match=r"other.yaml: name: 'h20' differs"):
        platforms.load("other")
    (tmp_path / "typo.yaml").write_text(text.replace("vendor: nvidia", "vendor: nvdia"))
    with pytest.raises(InputError, match='vendor: "nvdia" is not one of cpu, nvidia, amd, ppu'):
        platforms.load("typo")


def test_measure_is_replaced_and_the_unmeasurable_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelwright.knowledge import calibrate

    known = {"launch_us": {"value": 0.5, "source": "here", "confidence": "measured"}}
    monkeypatch.setattr(calibrate, "facts", lambda directory: known)
    facts = platforms.resolve_facts(platforms.load("cpu"))
    assert facts["launch_us"]["value"] == 0.5
    assert facts["memory_bandwidth_gb_s"]["value"] is None
    assert facts["memory_bandwidth_gb_s"]["confidence"] == "unknown"


def test_framework_answers() -> None:
    class Frameworks:
        @staticmethod
        def get(name: str) -> Any:
            if name == "absent":
                raise InputError("no module")
            return type("F", (), {"availability": staticmethod(lambda: (name == "ready", "why"))})

    assert [platforms.framework_ready(Frameworks, name) for name in ("ready", "broken", "absent")] == [
        True,
        False,
        False,
    ]
