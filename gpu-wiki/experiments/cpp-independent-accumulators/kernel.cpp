extern "C" void run(const float* x, float* out, long rows, long columns) {
  #pragma omp parallel for schedule(static)
  for (long r = 0; r < rows; r++) {
    const float* row = x + r * columns;
    float sum = 0;
#if AFTER
    #pragma omp simd reduction(+ : sum)
#endif
    for (long c = 0; c < columns; c++) sum += row[c];
    out[r] = sum;
  }
}
