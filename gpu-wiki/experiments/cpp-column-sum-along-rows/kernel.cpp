#include <algorithm>
extern "C" void run(const float* x, float* out, long rows, long columns) {
#if AFTER
  const long BLOCK = 512;
  #pragma omp parallel for schedule(static)
  for (long c0 = 0; c0 < columns; c0 += BLOCK) {
    const long n = std::min(BLOCK, columns - c0);
    float sums[BLOCK] = {};
    for (long r = 0; r < rows; r++)
      for (long c = 0; c < n; c++) sums[c] += x[r * columns + c0 + c];
    std::copy(sums, sums + n, out + c0);
  }
#else
  #pragma omp parallel for schedule(static)
  for (long c = 0; c < columns; c++) {
    float sum = 0;
    for (long r = 0; r < rows; r++) sum += x[r * columns + c];
    out[c] = sum;
  }
#endif
}
