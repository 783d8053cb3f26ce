"""CUDA C++ compiled while running, launched on the current stream."""

import torch
from torch import nn

SOURCE = r"""
#include <cuda_bf16.h>
extern "C" __global__ void l2_rows(const __nv_bfloat16* x, __nv_bfloat16* out, int columns) {
  __shared__ float part[256];
  const long row = blockIdx.x * long(columns);
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += 256) { float v = __bfloat162float(x[row + c]); sum += v * v; }
  part[threadIdx.x] = sum;
  for (int step = 128; step; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
  }
  __syncthreads();
  const float factor = rsqrtf(part[0] + 1e-6f);
  for (int c = threadIdx.x; c < columns; c += 256) out[row + c] = __float2bfloat16(__bfloat162float(x[row + c]) * factor);
}
"""
KERNEL = torch.cuda._compile_kernel(SOURCE, "l2_rows", cuda_include_dirs=["/usr/local/cuda/include"])


class Model(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        KERNEL((x.shape[0], 1, 1), (256, 1, 1), (x, out, x.shape[1]))
        return out
