from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.judge import contract
from kernelwright.judge.faults import Fault

MODEL = "class Model:\n    pass\n"


def source(tmp_path: Path, text: str) -> contract.Source:
    path = tmp_path / "kernel.py"
    path.write_text(text)
    return contract.freeze(str(path), "Model")


def refused(tmp_path: Path, text: str, framework: str | None, mode: str) -> str:
    with pytest.raises(Fault) as caught:
        contract.check_text(source(tmp_path, text), framework, mode)
    return caught.value.reason


def test_freeze_hashes_the_bytes(tmp_path: Path) -> None:
    import hashlib

    assert source(tmp_path, MODEL).sha256 == hashlib.sha256(MODEL.encode()).hexdigest()


@pytest.mark.parametrize("text", ["class Other: pass", "class Model(:", "\x00"], ids=["no entry", "syntax", "null"])
def test_bad_contract(tmp_path: Path, text: str) -> None:
    with pytest.raises(Fault) as caught:
        source(tmp_path, text)
    assert caught.value.reason == "bad_contract" and caught.value.status == "failed"


def test_missing_file_is_no_candidate(tmp_path: Path) -> None:
    with pytest.raises(Fault) as caught:
        contract.freeze(str(tmp_path / "none.py"), "Model")
    assert caught.value.reason == "no_candidate"


@pytest.mark.parametrize(
    "entry",
    [
        "Model = make()",
        "from a import Model",
        "if True:\n    class Model: pass",
        "Model: Any = make()",
        "Model, VERSION = make(), 3",
    ],
)
def test_entry_point_may_be_bound_in_other_ways(tmp_path: Path, entry: str) -> None:
    assert source(tmp_path, entry).text == entry


@pytest.mark.parametrize("line", ["import reference", "from kernelwright.judge import x", "__import__('reference')"])
def test_evaluator_modules_are_refused_in_any_mode(tmp_path: Path, line: str) -> None:
    assert refused(tmp_path, f"{line}\n{MODEL}", None, "leaderboard") == "reference_called"


def test_own_framework_is_allowed_and_another_is_not(tmp_path: Path) -> None:
    text = f"import triton\n{MODEL}"
    assert contract.check_text(source(tmp_path, text), "triton", "production") == ["imports triton"]
    assert refused(tmp_path, text, "cpp", "production") == "other_framework"
    assert contract.check_text(source(tmp_path, text), "cpp", "leaderboard") == ["imports triton"]


def test_literal_libraries_are_external_and_built_ones_are_not(tmp_path: Path) -> None:
    assert refused(tmp_path, f"import ctypes\nctypes.CDLL('/x.so')\n{MODEL}", "cpp", "production") == "external_loading"
    built = f"import ctypes\npath = 'x'\nctypes.CDLL(path)\n{MODEL}"
    assert contract.check_text(source(tmp_path, built), "cpp", "production") == ["imports ctypes"]


@pytest.mark.parametrize("text", ["x = " + "-" * 50_000 + "1", "x = 1" + "+1" * 50_000], ids=["unary", "sum"])
def test_text_nested_too_deeply_is_a_bad_contract(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f"{MODEL}{text}\n")
    with pytest.raises(Fault, match="nested too deeply") as caught:
        contract.freeze(str(path), "Model")
    assert caught.value.reason == "bad_contract"


def test_the_encoding_is_the_files_own(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_bytes(b"# coding: latin-1\n# \xfc\n" + MODEL.encode())
    frozen = contract.freeze(str(path), "Model")
    assert "\xfc" in frozen.text and frozen.encoding == "iso-8859-1"


def test_array_packages_are_no_framework_of_a_production_kernel(tmp_path: Path) -> None:
    assert refused(tmp_path, f"import numpy as np\n{MODEL}", "cpp", "production") == "other_framework"
    assert contract.check_text(source(tmp_path, f"import numpy\n{MODEL}"), "cpp", "leaderboard") == ["imports numpy"]
