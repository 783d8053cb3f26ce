extern "C" void run(const float* a, const float* x, float* out, long n) {
#if AFTER
  #pragma omp parallel for schedule(dynamic, 32)
#else
  #pragma omp parallel for schedule(static)
#endif
  for (long r = 0; r < n; r++) {
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (long c = 0; c <= r; c++) sum += a[r * n + c] * x[c];
    out[r] = sum;
  }
}
