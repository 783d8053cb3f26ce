#include <cstdint>
#include <vector>
#include <omp.h>
extern "C" void run(const int32_t* values, int32_t* out, long count, long bins) {
#if AFTER
  const long pitch = (bins + 63) / 64 * 64 + 64;
#else
  const long pitch = bins;
#endif
  const int threads = omp_get_max_threads();
  std::vector<int32_t> tables(threads * pitch);
  #pragma omp parallel
  {
    int32_t* own = tables.data() + omp_get_thread_num() * pitch;
    #pragma omp for schedule(static)
    for (long i = 0; i < count; i++) own[values[i]]++;
  }
  for (long b = 0; b < bins; b++) {
    out[b] = 0;
    for (int t = 0; t < threads; t++) out[b] += tables[t * pitch + b];
  }
}
