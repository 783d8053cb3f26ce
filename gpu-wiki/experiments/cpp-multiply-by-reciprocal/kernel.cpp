#include <cmath>
#include <cstdint>
#include <cstring>
static float up(uint16_t v) { uint32_t w = uint32_t(v) << 16; float f; std::memcpy(&f, &w, 4); return f; }
static uint16_t down(float f) {  // to nearest even; NaN stays NaN
  uint32_t w; std::memcpy(&w, &f, 4);
  uint32_t rounded = (w + 0x7fff + ((w >> 16) & 1)) >> 16;
  return (w & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : uint16_t(rounded);
}

extern "C" void run(const uint16_t* x, const uint16_t* weight, uint16_t* out, long rows, long columns, float eps) {
  for (long r = 0; r < rows; r++) {
    const uint16_t* row = x + r * columns;
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (long c = 0; c < columns; c++) sum += up(row[c]) * up(row[c]);
    const float root = std::sqrt(sum / columns + eps);
#if AFTER
    const float factor = 1.0f / root;
    for (long c = 0; c < columns; c++) out[r * columns + c] = down(up(row[c]) * factor * up(weight[c]));
#else
    for (long c = 0; c < columns; c++) out[r * columns + c] = down(up(row[c]) / root * up(weight[c]));
#endif
  }
}
