#include <cmath>
#include <cstdint>
#include <cstring>

static float up(uint16_t v) { uint32_t w = uint32_t(v) << 16; float f; std::memcpy(&f, &w, 4); return f; }
static uint32_t bits(float f) { uint32_t w; std::memcpy(&w, &f, 4); return w; }
#if AFTER
static uint16_t down(float f) {
  const uint32_t w = bits(f), rounded = (w + 0x7fff + ((w >> 16) & 1)) >> 16;
  return (w & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : uint16_t(rounded);
}
#else
__attribute__((noinline)) static uint16_t not_a_number() { return 0x7fc0; }
static uint16_t down(float f) {
  const uint32_t w = bits(f);
  if ((w & 0x7fffffff) > 0x7f800000) return not_a_number();
  return uint16_t((w + 0x7fff + ((w >> 16) & 1)) >> 16);
}
#endif
extern "C" void run(const uint16_t* x, uint16_t* out, long tokens, long experts, long hidden, float factor) {
  #pragma omp parallel for schedule(static)
  for (long t = 0; t < tokens; t++) {
    const uint16_t* rows = x + t * experts * hidden;
    for (long c = 0; c < hidden; c++) {
      float sum = 0;
      for (long e = 0; e < experts; e++) sum += up(rows[e * hidden + c]);
      out[t * hidden + c] = down(sum * factor);
    }
  }
}
