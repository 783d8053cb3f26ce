#include <cmath>
#include <cstdint>
#include <cstring>

extern "C" void run(const float* x, float* out, long rows, long columns) {
  for (long r = 0; r < rows; r++) {
    const float* row = x + r * columns;
    float* to = out + r * columns;
    float top = row[0], sum = 0;
    #pragma omp simd reduction(max : top)
    for (long c = 0; c < columns; c++) top = row[c] > top ? row[c] : top;
#if AFTER
    #pragma omp simd reduction(+ : sum)
    for (long c = 0; c < columns; c++) sum += to[c] = std::exp(row[c] - top);
    for (long c = 0; c < columns; c++) to[c] = to[c] / sum;
#else
    #pragma omp simd reduction(+ : sum)
    for (long c = 0; c < columns; c++) sum += std::exp(row[c] - top);
    for (long c = 0; c < columns; c++) to[c] = std::exp(row[c] - top) / sum;
#endif
  }
}
