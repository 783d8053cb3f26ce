from __future__ import annotations

import pytest
from kernelwright import frameworks
from kernelwright.errors import InputError
from kernelwright.frameworks import cpp, triton


def test_every_framework_has_the_interface():
    for name in frameworks.names():
        module = frameworks.get(name)
        usable, sentence = module.availability()
        assert isinstance(usable, bool)
        assert sentence
        assert name == module.NAME
        assert module.VENDORS
        assert module.GUIDANCE.read_text().strip()


def test_an_unknown_framework_lists_those_there_are():
    with pytest.raises(InputError, match="allowed: cpp, triton"):
        frameworks.get("fortran")


def test_frameworks_are_asked_by_vendor():
    assert set(frameworks.available("cpu")) == {"cpp"}
    assert "triton" in frameworks.available("nvidia")


def test_cpp_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    usable, sentence = cpp.availability()
    assert not usable
    assert "no-such-compiler" in sentence
    assert "install g++" in sentence


def test_triton_needs_a_driver(monkeypatch):
    monkeypatch.setattr(triton, "find_spec", lambda name: object())
    monkeypatch.setattr(triton, "DEVICE_NODES", ("/no/such/device",))
    assert triton.availability() == (False, "no GPU driver on this machine (none of /no/such/device)")


def test_own_kernels_are_read_from_the_source():
    source = 'extern "C" void kw_norm(const float* x) {}\nextern "C" int64_t  other(int64_t n) {}\nvoid local() {}'
    assert cpp.own_kernels(source) == ["kw_norm", "other"]
    decorators = {
        "a": "@triton.jit\n",
        "b": "@triton.jit(debug=True)\n",
        "c": "@triton.autotune()\n@triton.jit\n",
        "d": "",
    }
    code = "".join(f"{lines}def {name}(x): ...\n" for name, lines in decorators.items())
    assert triton.own_kernels(code) == ["a", "b", "c"]
