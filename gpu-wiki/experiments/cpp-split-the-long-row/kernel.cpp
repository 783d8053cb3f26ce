extern "C" void run(const float* x, float* out, long rows, long columns) {
#if AFTER
  if (rows < 2) {
    for (long r = 0; r < rows; r++) {
      float sum = 0;
      #pragma omp parallel for simd reduction(+ : sum) schedule(static)
      for (long c = 0; c < columns; c++) sum += x[r * columns + c];
      out[r] = sum;
    }
    return;
  }
#endif
  #pragma omp parallel for schedule(static)
  for (long r = 0; r < rows; r++) {
    float sum = 0;
    #pragma omp simd reduction(+ : sum)
    for (long c = 0; c < columns; c++) sum += x[r * columns + c];
    out[r] = sum;
  }
}
