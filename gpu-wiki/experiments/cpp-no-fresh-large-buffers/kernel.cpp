#include <cmath>
#include <cstdint>
#include <cstring>
static float up(uint16_t v) { uint32_t w = uint32_t(v) << 16; float f; std::memcpy(&f, &w, 4); return f; }
static uint16_t down(float f) {  // to nearest even; NaN stays NaN
  uint32_t w; std::memcpy(&w, &f, 4);
  uint32_t rounded = (w + 0x7fff + ((w >> 16) & 1)) >> 16;
  return (w & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : uint16_t(rounded);
}
#include <memory>
#include <vector>

static void norm(const uint16_t* row, float* wide, uint16_t* out, long columns, float eps) {
  float sum = 0, squares = 0;
  #pragma omp simd reduction(+ : sum)
  for (long c = 0; c < columns; c++) sum += wide[c] = up(row[c]);
  const float mean = sum / columns;
  #pragma omp simd reduction(+ : squares)
  for (long c = 0; c < columns; c++) squares += (wide[c] - mean) * (wide[c] - mean);
  const float factor = 1.0f / std::sqrt(squares / columns + eps);
  for (long c = 0; c < columns; c++) out[c] = down((wide[c] - mean) * factor);
}
extern "C" void run(const uint16_t* x, uint16_t* out, long rows, long columns, float eps) {
#if AFTER
  #pragma omp parallel
  {
    std::vector<float> wide(columns);
    #pragma omp for schedule(static)
    for (long r = 0; r < rows; r++) norm(x + r * columns, wide.data(), out + r * columns, columns, eps);
  }
#else
  std::unique_ptr<float[]> wide(new float[rows * columns]);
  #pragma omp parallel for schedule(static)
  for (long r = 0; r < rows; r++) norm(x + r * columns, wide.get() + r * columns, out + r * columns, columns, eps);
#endif
}
