#include <cmath>
#include <cstdint>
#include <cstring>
static float up(uint16_t v) { uint32_t w = uint32_t(v) << 16; float f; std::memcpy(&f, &w, 4); return f; }
static uint16_t down(float f) {  // to nearest even; NaN stays NaN
  uint32_t w; std::memcpy(&w, &f, 4);
  uint32_t rounded = (w + 0x7fff + ((w >> 16) & 1)) >> 16;
  return (w & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : uint16_t(rounded);
}
#include <vector>

extern "C" void run(const uint16_t* x, const uint16_t* residual, const uint16_t* weight, uint16_t* out, uint16_t* total,
                    long rows, long columns, float eps) {
  #pragma omp parallel
  {
    std::vector<float> kept(columns);
    #pragma omp for schedule(static)
    for (long r = 0; r < rows; r++) {
      const uint16_t *left = x + r * columns, *right = residual + r * columns;
      float sum = 0;
      #pragma omp simd reduction(+ : sum)
      for (long c = 0; c < columns; c++) {
        const float v = up(left[c]) + up(right[c]);
#if AFTER
        kept[c] = v;
        total[r * columns + c] = down(v);
#endif
        sum += v * v;
      }
      const float factor = 1.0f / std::sqrt(sum / columns + eps);
#if !AFTER
      for (long c = 0; c < columns; c++) total[r * columns + c] = down(up(left[c]) + up(right[c]));
#endif
      for (long c = 0; c < columns; c++) {
#if AFTER
        const float v = kept[c];
#else
        const float v = up(left[c]) + up(right[c]);
#endif
        out[r * columns + c] = down(v * factor * up(weight[c]));
      }
    }
  }
}
