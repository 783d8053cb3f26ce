#include <immintrin.h>
#include <cstdint>
extern "C" void run(const float* x, const float* y, float* out, long count) {
  for (long block = 0; block < (count + 4095) / 4096; block++) {
    long i = block * 4096;
    const long end = i + 4096 < count ? i + 4096 : count;
#if AFTER
    while (i < end && (reinterpret_cast<uintptr_t>(out + i) & 31)) { out[i] = 2 * x[i] + y[i]; i++; }
    for (; i + 8 <= end; i += 8) {
      const __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(y + i);
      _mm256_stream_ps(out + i, _mm256_add_ps(_mm256_add_ps(a, a), b));
    }
#endif
    for (; i < end; i++) out[i] = 2 * x[i] + y[i];
  }
#if AFTER
  _mm_sfence();
#endif
}
