"""Inductor's module for a GPU as text in, a Triton kernel file out; nothing is compiled here."""

from __future__ import annotations

import ast
import dataclasses

import pytest
from kernelwright.errors import KernelwrightError
from kernelwright.frameworks import triton
from kernelwright.search import inductor_triton
from kernelwright.search.inductor_emit import Lowering

KERNEL = """
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math

@triton_heuristics.reduction(
    size_hints={'x': 16, 'r0_': 256}, reduction_hint=ReductionHint.INNER, filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': 'fp64', 'out_ptr0': '*bf16', 'ks0': 'i64',
        'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={'grid_type': 'GRID', 'kernel_name': 'some_0'}
)
@triton.jit
def some_0(in_ptr0, in_ptr1, out_ptr0, ks0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    tmp0 = triton_helpers.HELPER(tl_math.abs(tl.load(in_ptr0 + ks0 * xindex)), 0)
"""
MODULE = """
some_0 = async_compile.triton('some_0', '''KERNEL''', device_str='cuda')

class Runner:
    def call(self, args):
        arg0_1, arg1_1, arg2_1 = args
        args.clear()
        s7 = arg0_1
        assert_size_stride(arg1_1, (s7, ), (1, ))
        assert_size_stride(arg2_1, (), ())
        with torch.cuda._DeviceGuard(0):
            torch.cuda.set_device(0)
            buf0 = empty_strided_cuda((s7, ), (1, ), torch.float32)
            stream0 = get_raw_stream(0)
            some_0.run(arg1_1, arg2_1.item(), buf0, s7, s7, 8, stream=stream0)
            EXTRA
            del arg1_1
        return (reinterpret_tensor(buf0, (s7, 1), (1, 1), 0), )
"""


def lowering(helper="max2", grid="Grid1D", extra="pass"):
    kernel = KERNEL.replace("HELPER", helper).replace("GRID", grid)
    return Lowering(
        code=MODULE.replace("KERNEL", kernel).replace("EXTRA", extra),
        arguments=[
            {"source": "L['x'].size()[0]", "as_tensor": False, "dtype": ""},
            {"source": "L['x']", "as_tensor": False, "dtype": "bfloat16"},
            {"source": "L['self'].eps", "as_tensor": True, "dtype": "float64"},
        ],
        outputs={"count": 1, "single": True, "values": [{"result": 0}]},
        macros=[], capability="", mutates=[], imports=["import torch"], constants=["EPS = 1e-06"],
        init_parameters="self, eps=EPS", init_body=["self.eps = eps"], forward_parameters="self, x",
    )  # fmt: skip


def text(allow_library=False, **changes):
    return inductor_triton.kernel_text("some", "Model", lowering(**changes), allow_library)


def test_the_runtime_is_replaced():
    found = text()
    ast.parse(found)
    assert "_inductor" not in found and "DeviceGuard" not in found and "stream" not in found
    assert triton.own_kernels(found) == ["_max2", "_maximum", "some_0"]
    assert "buf0 = torch.empty_strided((s7,), (1,), dtype=torch.float32, device=x.device)" in found
    assert "_launch_some_0(arg1_1, arg2_1, buf0, s7, s7, 8)" in found
    assert "return buf0.as_strided((s7, 1), (1, 1), buf0.storage_offset() + 0)" in found


def test_sizes_keep_their_width_and_scalars_are_numbers():
    found = text()
    assert "def some_0(in_ptr0, in_ptr1, out_ptr0, ks0: tl.int64, xnumel: tl.int32, r0_numel: tl.int32, XBLOCK" in found
    assert "self._scalar_2 = self.eps" in found
    assert "_with_strides(arg2_1" not in found
    assert "_countable(in_ptr0," in found


def test_helpers_are_the_files_own():
    assert "_max2(tl.math.abs(" in text()
    assert "def _minimum" in text(helper="minimum") and "def _maximum" not in text(helper="minimum")
    with pytest.raises(KernelwrightError, match=r"needs triton_helpers\.bucketize"):
        text(helper="bucketize")


def test_what_is_not_known_is_refused_by_name():
    with pytest.raises(KernelwrightError, match="launched on Grid2D"):
        text(grid="Grid2D")
    with pytest.raises(KernelwrightError, match="needs alloc_from_pool of its runtime"):
        text(extra="buf1 = alloc_from_pool(buf0, 0)")
    with pytest.raises(KernelwrightError, match="production mode forbids"):
        text(extra="extern_kernels.mm(arg1_1, arg1_1, out=buf0)")
    assert "torch.mm(arg1_1" in text(extra="extern_kernels.mm(arg1_1, arg1_1, out=buf0)", allow_library=True)
    cpp = dataclasses.replace(lowering(), code=lowering().code.replace("async_compile.triton", "async_compile.cpp"))
    with pytest.raises(KernelwrightError, match=r"built by async_compile\.cpp"):
        inductor_triton.kernel_text("some", "Model", cpp, False)
