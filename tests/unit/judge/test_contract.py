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


@pytest.mark.parametrize("entry", ["Model = make()", "from a import Model", "if True:\n    class Model: pass"])
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
