#include <algorithm>
#include <cstdint>
extern "C" void run(const int32_t* keys, const int32_t* query, int64_t* out, long n, long queries) {
  for (long q = 0; q < queries; q++) {
    const int32_t wanted = query[q];
#if AFTER
    const int32_t* base = keys;
    long left = n;
    while (left > 1) {
      const long half = left / 2;
      base += (base[half - 1] < wanted) * half;
      left -= half;
    }
    out[q] = base - keys + (left == 1 && *base < wanted);
#else
    long low = 0, high = n;
    while (low < high) {
      const long middle = (low + high) / 2;
      if (keys[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    out[q] = low;
#endif
  }
}
