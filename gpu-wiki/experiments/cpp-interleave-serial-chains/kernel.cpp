extern "C" void run(const float* x, float* out, long rows, long columns) {
  long done = 0;
#if AFTER
  done = rows / 4 * 4;
  for (long r = 0; r < done; r += 4) {
    const float *x0 = x + r * columns, *x1 = x0 + columns, *x2 = x1 + columns, *x3 = x2 + columns;
    float *y0 = out + r * columns, *y1 = y0 + columns, *y2 = y1 + columns, *y3 = y2 + columns;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (long c = 0; c < columns; c++) {
      y0[c] = s0 += x0[c];
      y1[c] = s1 += x1[c];
      y2[c] = s2 += x2[c];
      y3[c] = s3 += x3[c];
    }
  }
#endif
  for (long r = done; r < rows; r++) {
    float sum = 0;
    for (long c = 0; c < columns; c++) out[r * columns + c] = sum += x[r * columns + c];
  }
}
