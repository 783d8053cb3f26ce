#include <vector>
extern "C" void run(const float* x, float* out, long height, long width) {
  const long h = height - 6, w = width - 6;
#if AFTER
  std::vector<float> along(height * w);
  #pragma omp parallel for schedule(static)
  for (long r = 0; r < height; r++)
    for (long c = 0; c < w; c++) {
      float sum = 0;
      for (long j = 0; j < 7; j++) sum += x[r * width + c + j];
      along[r * w + c] = sum;
    }
  #pragma omp parallel for schedule(static)
  for (long r = 0; r < h; r++)
    for (long c = 0; c < w; c++) {
      float sum = 0;
      for (long i = 0; i < 7; i++) sum += along[(r + i) * w + c];
      out[r * w + c] = sum / 49;
    }
#else
  #pragma omp parallel for schedule(static)
  for (long r = 0; r < h; r++)
    for (long c = 0; c < w; c++) {
      float sum = 0;
      for (long i = 0; i < 7; i++)
        for (long j = 0; j < 7; j++) sum += x[(r + i) * width + c + j];
      out[r * w + c] = sum / 49;
    }
#endif
}
