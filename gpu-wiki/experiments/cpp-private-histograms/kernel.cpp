#include <cstdint>
#include <vector>
#include <algorithm>
extern "C" void run(const int32_t* values, int32_t* out, long count, long bins) {
  std::fill(out, out + bins, 0);
#if AFTER
  #pragma omp parallel
  {
    std::vector<int32_t> own(bins + 32);  // the margin keeps two tables off one cache line
    #pragma omp for schedule(static) nowait
    for (long i = 0; i < count; i++) own[values[i]]++;
    #pragma omp critical
    for (long b = 0; b < bins; b++) out[b] += own[b];
  }
#else
  #pragma omp parallel for schedule(static)
  for (long i = 0; i < count; i++) {
    #pragma omp atomic
    out[values[i]]++;
  }
#endif
}
