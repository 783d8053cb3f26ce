#include <cmath>
#include <cstdint>
#include <cstring>

static inline float fast_exp(float x) {  // 2^n times a polynomial on [-ln2/2, ln2/2]
  x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float n = __builtin_rintf(x * 1.44269504f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  int32_t bits = (int32_t(n) + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, 4);
  return p * scale;
}

extern "C" void run(const float* x, float* out, long rows, long columns) {
  #pragma omp parallel for schedule(static)
  for (long i = 0; i < rows * columns; i++) {
    const float v = x[i], u = 0.79788456f * (v + 0.044715f * v * v * v);
#if AFTER
    const float t = 1.0f - 2.0f / (fast_exp(2 * u) + 1.0f);
#else
    const float t = std::tanh(u);
#endif
    out[i] = 0.5f * v * (1.0f + t);
  }
}
