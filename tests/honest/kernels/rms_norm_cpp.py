"""One C++ pass with OpenMP, self-contained: also right in production mode."""

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
#include <cmath>
#include <cstdint>
#include <cstring>
static float up(uint16_t v) { uint32_t w = uint32_t(v) << 16; float f; std::memcpy(&f, &w, 4); return f; }
static uint16_t down(float f) {
  uint32_t w; std::memcpy(&w, &f, 4);
  if ((w & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  return uint16_t((w + 0x7fff + ((w >> 16) & 1)) >> 16);
}
extern "C" void rms_norm(const uint16_t* x, const uint16_t* weight, uint16_t* out, long rows, long columns, float eps) {
  #pragma omp parallel for if (rows * columns > 16384)
  for (long r = 0; r < rows; r++) {
    const uint16_t* row = x + r * columns;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (long c = 0; c < columns; c++) sum += up(row[c]) * up(row[c]);
    const float factor = 1.0f / std::sqrt(sum / columns + eps);
    for (long c = 0; c < columns; c++) out[r * columns + c] = down(up(row[c]) * factor * up(weight[c]));
  }
}
""")


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, weight):
        out = torch.empty_like(x)
        pointers = [ctypes.c_void_p(item.data_ptr()) for item in (x, weight, out)]
        LIBRARY.rms_norm(*pointers, ctypes.c_long(x.shape[0]), ctypes.c_long(x.shape[1]), ctypes.c_float(self.eps))
        return out
