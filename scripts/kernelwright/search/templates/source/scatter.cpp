// For each cache: row slots[i] = row i of its source. Rows are plain bytes. Returns how many slots lie outside.
using namespace kw;

struct Copy {
  const char* source;
  int64_t source_stride;
  char* cache;
  int64_t block_stride, offset_stride;
};

extern "C" int64_t kw_scatter(const Copy* copies, int64_t count, const int64_t* slots, int64_t rows, int64_t row_bytes,
                              int64_t blocks, int64_t block_size) {
  int64_t outside = 0;
  for (int64_t i = 0; i < rows; ++i) outside += slots[i] < 0 || slots[i] >= blocks * block_size;
  if (outside > 0) return outside;
  parallel(rows, rows * count * row_bytes * 2, [&](int64_t begin, int64_t end) {
    for (int64_t c = 0; c < count; ++c) {
      Copy copy = copies[c];
      for (int64_t i = begin; i < end; ++i) {
        int64_t block = slots[i] / block_size, offset = slots[i] % block_size;
        char* to = copy.cache + block * copy.block_stride + offset * copy.offset_stride;
        const char* from = copy.source + i * copy.source_stride;
        if (KW_STREAM)
          stream_copy(to, from, row_bytes);
        else
          std::memcpy(to, from, row_bytes);
      }
    }
    if (KW_STREAM) stream_fence();
  });
  return 0;
}
