#include <algorithm>
static void plain(const float* a, const float* b, float* out, long i, long j0, long j1, long k, long n) {
  std::fill(out + i * n + j0, out + i * n + j1, 0.0f);
  for (long p = 0; p < k; p++)
    for (long j = j0; j < j1; j++) out[i * n + j] += a[i * k + p] * b[p * n + j];
}
extern "C" void run(const float* a, const float* b, float* out, long m, long k, long n) {
#if AFTER
  const long M = 4, N = 32, whole = n / N * N;
  #pragma omp parallel for schedule(static)
  for (long i0 = 0; i0 < m; i0 += M) {
    if (i0 + M > m) {
      for (long i = i0; i < m; i++) plain(a, b, out, i, 0, n, k, n);
      continue;
    }
    for (long j0 = 0; j0 < whole; j0 += N) {
      float tile[M][N] = {};
      for (long p = 0; p < k; p++)
        for (long i = 0; i < M; i++)
          for (long j = 0; j < N; j++) tile[i][j] += a[(i0 + i) * k + p] * b[p * n + j0 + j];
      for (long i = 0; i < M; i++) std::copy(tile[i], tile[i] + N, out + (i0 + i) * n + j0);
    }
    if (whole < n)
      for (long i = i0; i < i0 + M; i++) plain(a, b, out, i, whole, n, k, n);
  }
#else
  #pragma omp parallel for schedule(static)
  for (long i = 0; i < m; i++) plain(a, b, out, i, 0, n, k, n);
#endif
}
