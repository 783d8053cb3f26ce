#include <algorithm>
extern "C" void run(const float* a, const float* b, float* out, long m, long k, long n) {
  #pragma omp parallel for schedule(static)
  for (long i = 0; i < m; i++) {
    float* row = out + i * n;
#if AFTER
    std::fill(row, row + n, 0.0f);
    for (long p = 0; p < k; p++) {
      const float left = a[i * k + p];
      for (long j = 0; j < n; j++) row[j] += left * b[p * n + j];
    }
#else
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
      row[j] = sum;
    }
#endif
  }
}
