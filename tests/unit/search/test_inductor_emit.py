"""Inductor's generated module as text in, a kernel file out; nothing is compiled here."""

from __future__ import annotations

import ast
import dataclasses

import pytest
from kernelwright.errors import KernelwrightError
from kernelwright.search import inductor_emit
from kernelwright.search.inductor_emit import Lowering

MODULE = '''
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()

cpp_fused_add_0 = async_compile.cpp_pybinding(['const float*', 'float*', 'const int64_t'], r"""
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0, const int64_t ks0) {}
""")

class Runner:
    def call(self, args):
        arg0_1, arg1_1, arg2_1 = args
        args.clear()
        s7 = arg0_1
        assert_size_stride(arg1_1, (s7, ), (1, ), 'input')
        buf0 = empty_strided_cpu((s7, ), (1, ), torch.float32)
        cpp_fused_add_0(arg1_1, buf0, s7)
        del arg1_1
        EXTRA
        return (buf0, reinterpret_tensor(buf0, (s7, 1), (1, 1), 0), )
'''
LOWERING = Lowering(
    code=MODULE.replace("EXTRA", "pass"),
    arguments=[
        {"source": "L['x'].size()[0]", "as_tensor": False, "dtype": ""},
        {"source": "L['x']", "as_tensor": False, "dtype": "float32"},
        {"source": "L['self'].eps", "as_tensor": True, "dtype": "float64"},
    ],
    outputs={"count": 2, "single": True, "values": [{"result": 0}]},
    macros=["CPU_CAPABILITY_AVX2"], capability="AVX2", mutates=[], imports=["import torch"], constants=[],
    init_parameters="self, eps=1e-06", init_body=["self.eps = eps"], forward_parameters="self, x",
)  # fmt: skip


def text(lowering=LOWERING, allow_library=False):
    return inductor_emit.kernel_text("add", "Model", lowering, allow_library)


def with_line(line):
    return dataclasses.replace(LOWERING, code=MODULE.replace("EXTRA", line))


def test_the_runtime_is_replaced_by_public_calls():
    found = text()
    ast.parse(found)
    assert "_inductor" not in found
    assert "buf0 = torch.empty_strided((s7,), (1,), dtype=torch.float32)" in found
    assert "_LIBRARY.cpp_fused_add_0(arg1_1.data_ptr(), buf0.data_ptr(), s7)" in found
    assert "arg1_1 = _with_strides(arg1_1, (s7,), (1,), False)" in found
    assert 'extern "C"  void  cpp_fused_add_0(' in found
    assert "argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]" in found
    assert "return buf0\n" in found


def test_arguments_are_expressions_of_the_call_and_scalars_are_kept_once():
    found = text()
    assert "arg0_1 = x.size()[0]" in found
    assert "arg2_1 = self._scalar_2" in found
    assert "self._scalar_2 = torch.tensor(self.eps, dtype=torch.float64)" in found


def test_several_outputs_may_be_inputs():
    outputs = {"count": 2, "single": False, "values": [{"input": "x"}, {"result": 0}]}
    assert "return (x, buf0,)" in text(dataclasses.replace(LOWERING, outputs=outputs))


@pytest.mark.parametrize("line", ["extern_kernels.mm(arg1_1, arg1_1, out=buf0)", "buf1 = aten.sort.default(arg1_1)"])
def test_library_calls_are_for_leaderboard_mode_only(line):
    lowering = with_line(line)
    with pytest.raises(KernelwrightError, match="production mode forbids"):
        text(lowering)
    found = text(lowering, allow_library=True)
    assert "torch.mm(arg1_1, arg1_1, out=buf0)" in found or "torch.ops.aten.sort.default(arg1_1)" in found


def test_what_is_not_known_is_refused_by_name():
    with pytest.raises(KernelwrightError, match="needs alloc_from_pool of its runtime"):
        text(with_line("buf1 = alloc_from_pool(buf0, 0)"))
    with pytest.raises(KernelwrightError, match=r"built by async_compile\.triton"):
        text(dataclasses.replace(LOWERING, code=MODULE.replace("cpp_pybinding", "triton").replace("EXTRA", "pass")))
    with pytest.raises(KernelwrightError, match="reads G"):
        text(
            dataclasses.replace(
                LOWERING, arguments=[{**LOWERING.arguments[0], "source": "G['x']"}, *LOWERING.arguments[1:]]
            )
        )
    with pytest.raises(KernelwrightError, match="returns 2 values, the graph has 1"):
        text(dataclasses.replace(LOWERING, outputs={"count": 1, "single": True, "values": [{"result": 0}]}))
