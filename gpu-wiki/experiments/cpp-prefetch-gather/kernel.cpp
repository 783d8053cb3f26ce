#include <cstring>
#include <cstdint>
extern "C" void run(const float* table, const int64_t* index, float* out, long count, long width) {
  for (long i = 0; i < count; i++) {
#if AFTER
    if (i + 16 < count) __builtin_prefetch(table + index[i + 16] * width);
#endif
    std::memcpy(out + i * width, table + index[i] * width, width * sizeof(float));
  }
}
