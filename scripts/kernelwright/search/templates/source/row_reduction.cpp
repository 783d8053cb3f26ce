// out[r, c] = scale * sum over k of x[r, k, c], summed in fp32 in the order of k.
// KW_ORDER: 0 keeps a block of columns in registers over all k, 1 walks whole rows of k into an fp32 row.
using namespace kw;
typedef KW_X TX;
typedef KW_OUT TO;

struct Item {
  const TX* x;
  int64_t k_stride;
  int64_t k_count;
  float scale;
};

template <int N> inline void columns(const Item& item, int64_t c, TO* out) {
  vf total[N];
  for (int u = 0; u < N; ++u) total[u] = load(item.x + c + u * W);
  for (int64_t k = 1; k < item.k_count; ++k)
    for (int u = 0; u < N; ++u) total[u] += load(item.x + k * item.k_stride + c + u * W);
  for (int u = 0; u < N; ++u) store(out + u * W, total[u] * item.scale);
}
inline void column_tail(const Item& item, int64_t c, int64_t left, TO* out) {
  vf total = load_tail(item.x + c, left);
  for (int64_t k = 1; k < item.k_count; ++k) total += load_tail(item.x + k * item.k_stride + c, left);
  store_tail(out, total * item.scale, left);
}

inline void by_columns(const Item& item, int64_t from, int64_t to, TO* out) {
  int64_t c = from;
  for (; c + KW_UNROLL * W <= to; c += KW_UNROLL * W) columns<KW_UNROLL>(item, c, out + c - from);
  for (; c + W <= to; c += W) columns<1>(item, c, out + c - from);
  if (c < to) column_tail(item, c, to - c, out + c - from);
}

inline void by_rows(const Item& item, int64_t from, int64_t to, float* sums, TO* out) {
  int64_t whole = (to - from) / W * W;
  for (int64_t k = 0; k < item.k_count; ++k) {
    const TX* row = item.x + k * item.k_stride + from;
    for (int64_t c = 0; c < whole; c += W) store(sums + c, k == 0 ? load(row + c) : load(sums + c) + load(row + c));
  }
  for (int64_t c = 0; c < whole; c += W) store(out + c, load(sums + c) * item.scale);
  if (from + whole < to) column_tail(item, from + whole, to - from - whole, out + whole);
}

extern "C" void kw_row_reduction(const TX* x, int64_t row_stride, int64_t k_stride, TO* out, int64_t rows, int64_t k_count,
                                 int64_t width, float scale) {
#if KW_HUGE_PAGES
  prefer_huge_pages(out, rows * width * sizeof(TO));
#endif
  int64_t block = KW_BLOCK;
  int64_t blocks = (width + block - 1) / block;
  int64_t bytes = rows * width * int64_t(k_count * sizeof(TX) + sizeof(TO));
  parallel(rows * blocks, bytes, [&](int64_t begin, int64_t end) {
    alignas(64) TO staged[KW_STREAM ? KW_BLOCK : 1];
    alignas(64) float sums[KW_ORDER == 1 ? KW_BLOCK : 1];
    for (int64_t index = begin; index < end; ++index) {
      int64_t r = index / blocks, from = (index % blocks) * block;
      int64_t to = from + block < width ? from + block : width;
      Item item{x + r * row_stride, k_stride, k_count, scale};
      TO* target = out + r * width + from;
      if (KW_ORDER == 1)
        by_rows(item, from, to, sums, KW_STREAM ? staged : target);
      else
        by_columns(item, from, to, KW_STREAM ? staged : target);
      if (KW_STREAM) stream_copy(target, staged, (to - from) * sizeof(TO));
    }
    if (KW_STREAM) stream_fence();
  });
}
