#include <cmath>
#include <cstdint>
#include <cstring>
#include <algorithm>
#include <numeric>
#include <vector>

extern "C" void run(const float* x, float* weights, int32_t* ids, long tokens, long experts, long k) {
  #pragma omp parallel
  {
    std::vector<int32_t> order(experts);
    #pragma omp for schedule(static)
    for (long t = 0; t < tokens; t++) {
      const float* row = x + t * experts;
#if AFTER
      long found = 0;
      for (long e = 0; e < experts; e++) {
        if (found == k && !(row[e] > row[order[k - 1]])) continue;
        long at = found < k ? found++ : k - 1;
        for (; at > 0 && row[e] > row[order[at - 1]]; at--) order[at] = order[at - 1];
        order[at] = int32_t(e);
      }
#else
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return row[a] > row[b]; });
#endif
      const float top = row[order[0]];
      float sum = 0;
      for (long e = 0; e < experts; e++) sum += std::exp(row[e] - top);
      for (long j = 0; j < k; j++) {
        weights[t * k + j] = std::exp(row[order[j]] - top) / sum;
        ids[t * k + j] = order[j];
      }
    }
  }
}
