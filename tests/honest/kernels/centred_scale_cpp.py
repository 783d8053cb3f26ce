"""C++ that takes the row stride of its input as it comes."""

import ctypes
import hashlib

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline


def build(source):
    name = "honest_" + hashlib.sha256(source.encode()).hexdigest()[:12]
    path = load_inline(
        name=name,
        cpp_sources=[source],
        extra_cflags=["-O3", "-march=native", "-fopenmp"],
        extra_ldflags=["-fopenmp"],
        is_python_module=False,
        no_implicit_headers=True,
    )
    return ctypes.CDLL(str(path))


LIBRARY = build(r"""
extern "C" void centred_scale(const float* x, const float* scale, float* out, long rows, long columns, long stride) {
  #pragma omp parallel for if (rows * columns > 4096)
  for (long r = 0; r < rows; r++) {
    const float* row = x + r * stride;
    float sum = 0;
    for (long c = 0; c < columns; c++) sum += row[c];
    const float mean = sum / columns;
    for (long c = 0; c < columns; c++) out[r * columns + c] = (row[c] - mean) * scale[c];
  }
}
""")


class Model(nn.Module):
    def forward(self, x, scale):
        x = x if x.stride(1) == 1 else x.contiguous()
        out = torch.empty(x.shape)
        pointers = [ctypes.c_void_p(item.data_ptr()) for item in (x, scale, out)]
        LIBRARY.centred_scale(*pointers, *(ctypes.c_long(n) for n in (*x.shape, x.stride(0))))
        return out
