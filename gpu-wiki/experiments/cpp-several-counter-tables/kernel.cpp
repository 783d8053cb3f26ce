#include <cstdint>
#include <vector>
#include <algorithm>
extern "C" void run(const int32_t* values, int32_t* out, long count, long bins) {
#if AFTER
  const long TABLES = 4;
#else
  const long TABLES = 1;
#endif
  std::vector<int32_t> own(TABLES * bins);
  long i = 0;
  for (; i + TABLES <= count; i += TABLES)
    for (long t = 0; t < TABLES; t++) own[t * bins + values[i + t]]++;
  for (; i < count; i++) own[values[i]]++;
  for (long b = 0; b < bins; b++) {
    out[b] = 0;
    for (long t = 0; t < TABLES; t++) out[b] += own[t * bins + b];
  }
}
