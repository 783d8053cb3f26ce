extern "C" void run(const float* a, const float* b, float* out, long m, long k, long n) {
  #pragma omp parallel for schedule(static)
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
#if AFTER
      float sum = 0;
      for (long p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
      out[i * n + j] = sum;
#else
      out[i * n + j] = 0;
      for (long p = 0; p < k; p++) out[i * n + j] += a[i * k + p] * b[p * n + j];
#endif
    }
}
