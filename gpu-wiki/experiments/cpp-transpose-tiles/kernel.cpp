#include <algorithm>
extern "C" void run(const float* x, float* out, long rows, long columns) {
#if AFTER
  const long T = 16;
  #pragma omp parallel for collapse(2) schedule(static)
  for (long r0 = 0; r0 < rows; r0 += T)
    for (long c0 = 0; c0 < columns; c0 += T)
      for (long c = c0; c < std::min(columns, c0 + T); c++)
        for (long r = r0; r < std::min(rows, r0 + T); r++) out[c * rows + r] = x[r * columns + c];
#else
  #pragma omp parallel for schedule(static)
  for (long c = 0; c < columns; c++)
    for (long r = 0; r < rows; r++) out[c * rows + r] = x[r * columns + c];
#endif
}
