// Row normalisation over the last axis: out = (x [+ residual] [- mean]) * scale(row) [* weight] [+ bias].
// KW_STATISTIC: 0 root mean square, 1 layer (mean and variance), 2 L2 norm.
using namespace kw;
typedef KW_X TX;
typedef KW_WEIGHT TW;
typedef KW_OUT TO;

struct Row {
  const TX* x;
  const TX* residual;
  TX* residual_out;
  int64_t hidden;
  float* cache;  // the row in fp32, when it is kept
};

// The row's values: x, plus the residual; what is added is also written out, rounded once.
template <bool first> inline vf value_at(const Row& row, int64_t i) {
#if KW_CACHE_ROW
  if (!first) return load(row.cache + i);
#endif
  vf v = load(row.x + i);
#if KW_HAS_RESIDUAL
  v += load(row.residual + i);
#endif
#if KW_CACHE_ROW
  if (first) store(row.cache + i, v);
#endif
  return v;
}
template <bool first> inline vf tail_at(const Row& row, int64_t i) {
  int64_t left = row.hidden - i;
  vf v = load_tail(row.x + i, left);
#if KW_HAS_RESIDUAL
  v += load_tail(row.residual + i, left);
#endif
  return v;
}

template <bool first, class Each> inline float sum_over(const Row& row, Each each) {
  vf total[KW_UNROLL];
  for (int u = 0; u < KW_UNROLL; ++u) total[u] = splat(0.0f);
  int64_t i = 0;
  for (; i + KW_UNROLL * W <= row.hidden; i += KW_UNROLL * W)
    for (int u = 0; u < KW_UNROLL; ++u) total[u] += each(value_at<first>(row, i + u * W));
  for (; i + W <= row.hidden; i += W) total[0] += each(value_at<first>(row, i));
  if (i < row.hidden) {
    vf v = each(tail_at<first>(row, i));
    for (int lane = 0; lane < row.hidden - i; ++lane) total[0][lane] += v[lane];
  }
  for (int u = 1; u < KW_UNROLL; ++u) total[0] += total[u];
  return sum_lanes(total[0]);
}

inline float scale_of(float squares, int64_t hidden, float eps) {
#if KW_STATISTIC == 2
  float sum = squares;
#else
  float sum = squares / static_cast<float>(hidden);
#endif
#if KW_EPS == 0  // eps inside the square root
  return 1.0f / std::sqrt(sum + eps);
#elif KW_EPS == 1  // the norm is at least eps
  float norm = std::sqrt(sum);
  return 1.0f / (norm < eps ? eps : norm);
#else  // eps added to the norm
  return 1.0f / (std::sqrt(sum) + eps);
#endif
}

inline vf finish(vf v, float mean, float scale, const TW* weight, const TW* bias) {
#if KW_STATISTIC == 1
  v -= mean;
#endif
  v *= scale;
#if KW_HAS_WEIGHT
  v *= load(weight) + KW_WEIGHT_OFFSET;
#endif
#if KW_HAS_BIAS
  v += load(bias);
#endif
  return v;
}

inline void write_row(const Row& row, float mean, float scale, const TW* weight, const TW* bias, TO* out) {
  int64_t i = 0;
  for (; i + W <= row.hidden; i += W) {
    vf v = value_at<false>(row, i);
#if KW_HAS_RESIDUAL
    store(row.residual_out + i, v);
#endif
    store(out + i, finish(v, mean, scale, weight + i, bias + i));
  }
  int64_t left = row.hidden - i;
  if (left == 0) return;
  alignas(64) TW w[W] = {}, b[W] = {};
  if (KW_HAS_WEIGHT) std::memcpy(static_cast<void*>(w), weight + i, left * sizeof(TW));
  if (KW_HAS_BIAS) std::memcpy(static_cast<void*>(b), bias + i, left * sizeof(TW));
  vf v = tail_at<false>(row, i);
#if KW_HAS_RESIDUAL
  store_tail(row.residual_out + i, v, left);
#endif
  store_tail(out + i, finish(v, mean, scale, w, b), left);
}

inline void normalise(const Row& row, float eps, const TW* weight, const TW* bias, TO* out) {
  float mean = 0.0f;
#if KW_STATISTIC == 1
  mean = sum_over<true>(row, [](vf v) { return v; }) / static_cast<float>(row.hidden);
  float squares = sum_over<false>(row, [mean](vf v) { vf d = v - mean; return d * d; });
#else
  float squares = sum_over<true>(row, [](vf v) { return v * v; });
#endif
  write_row(row, mean, scale_of(squares, row.hidden, eps), weight, bias, out);
}

extern "C" void kw_row_norm(const TX* x, int64_t x_stride, const TX* residual, int64_t residual_stride, const TW* weight,
                            const TW* bias, TO* out, TX* residual_out, int64_t rows, int64_t hidden, float eps) {
  int64_t row_bytes = hidden * (sizeof(TX) * (KW_HAS_RESIDUAL ? 3 : 1) + sizeof(TO));
#if KW_HUGE_PAGES
  prefer_huge_pages(out, rows * hidden * sizeof(TO));
  if (KW_HAS_RESIDUAL) prefer_huge_pages(residual_out, rows * hidden * sizeof(TX));
#endif
  parallel(rows, rows * row_bytes, [&](int64_t begin, int64_t end) {
    std::vector<float> cache(KW_CACHE_ROW ? hidden : 0);
    std::vector<TO> staged(KW_STREAM ? hidden : 0);
    std::vector<TX> staged_residual(KW_STREAM && KW_HAS_RESIDUAL ? hidden : 0);
    for (int64_t r = begin; r < end; ++r) {
      TX* sum_row = KW_HAS_RESIDUAL ? residual_out + r * hidden : nullptr;
      TO* out_row = out + r * hidden;
      Row row{x + r * x_stride, KW_HAS_RESIDUAL ? residual + r * residual_stride : nullptr,
              KW_STREAM && KW_HAS_RESIDUAL ? staged_residual.data() : sum_row, hidden, cache.data()};
      normalise(row, eps, weight, bias, KW_STREAM ? staged.data() : out_row);
#if KW_STREAM
      stream_copy(out_row, staged.data(), hidden * sizeof(TO));
      if (KW_HAS_RESIDUAL) stream_copy(sum_row, staged_residual.data(), hidden * sizeof(TX));
#endif
    }
    if (KW_STREAM) stream_fence();
  });
}
