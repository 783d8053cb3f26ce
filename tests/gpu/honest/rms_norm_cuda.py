"""CUDA C++ by torch's extension builder, without torch's headers: built in seconds."""

import ctypes
import hashlib

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cuda_bf16.h>
__global__ void rms_norm_rows(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* out, int columns, float eps) {
  __shared__ float part[32];
  const long row = blockIdx.x * long(columns);
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) { float v = __bfloat162float(x[row + c]); sum += v * v; }
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x == 0) part[0] = rsqrtf(sum / columns + eps);
  }
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    out[row + c] = __float2bfloat16(__bfloat162float(x[row + c]) * part[0] * __bfloat162float(weight[c]));
}
extern "C" void rms_norm(const void* x, const void* weight, void* out, int rows, int columns, float eps) {
  rms_norm_rows<<<rows, 256>>>((const __nv_bfloat16*)x, (const __nv_bfloat16*)weight, (__nv_bfloat16*)out, columns, eps);
}
"""


def build():
    name = "honest_" + hashlib.sha256(SOURCE.encode()).hexdigest()[:12]
    path = load_inline(
        name=name, cpp_sources=[""], cuda_sources=[SOURCE], is_python_module=False, no_implicit_headers=True
    )
    return ctypes.CDLL(str(path))


LIBRARY = build()


class Model(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, weight):
        out = torch.empty_like(x)
        pointers = [ctypes.c_void_p(item.data_ptr()) for item in (x, weight, out)]
        LIBRARY.rms_norm(*pointers, *map(int, x.shape), ctypes.c_float(self.eps))
        return out
