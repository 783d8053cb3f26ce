#include <cmath>
#include <cstdint>
#include <cstring>
static float up(uint16_t v) { uint32_t w = uint32_t(v) << 16; float f; std::memcpy(&f, &w, 4); return f; }
static uint16_t down(float f) {  // to nearest even; NaN stays NaN
  uint32_t w; std::memcpy(&w, &f, 4);
  uint32_t rounded = (w + 0x7fff + ((w >> 16) & 1)) >> 16;
  return (w & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : uint16_t(rounded);
}
#include <algorithm>

extern "C" void run(const uint16_t* x, uint16_t* out, long tokens, long experts, long hidden, float factor) {
  #pragma omp parallel for schedule(static)
  for (long t = 0; t < tokens; t++) {
    const uint16_t* rows = x + t * experts * hidden;
#if AFTER
    const long BLOCK = 1024;
    for (long c0 = 0; c0 < hidden; c0 += BLOCK) {
      const long n = std::min(BLOCK, hidden - c0);
      float sums[BLOCK] = {};
      for (long e = 0; e < experts; e++)
        for (long c = 0; c < n; c++) sums[c] += up(rows[e * hidden + c0 + c]);
      for (long c = 0; c < n; c++) out[t * hidden + c0 + c] = down(sums[c] * factor);
    }
#else
    for (long c = 0; c < hidden; c++) {
      float sum = 0;
      for (long e = 0; e < experts; e++) sum += up(rows[e * hidden + c]);
      out[t * hidden + c] = down(sum * factor);
    }
#endif
  }
}
