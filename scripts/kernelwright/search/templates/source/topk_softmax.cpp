// The k largest softmax weights of each row, largest first, with their columns; the first column wins a tie.
using namespace kw;
typedef KW_X TX;
typedef KW_INDEX TI;

constexpr float TAKEN = -1.0f;  // below every weight

// exp(x - max) of a row into `scratch`, padded to whole vectors with TAKEN; returns the sum.
inline float exponentials(const TX* x, int64_t width, float* scratch) {
  int64_t whole = width / W * W, left = width - whole;
  vf top = splat(-std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < whole; i += W) {
    vf v = load(x + i);
    store(scratch + i, v);
    top = v > top ? v : top;
  }
  if (left > 0) {
    vf v = load_tail(x + whole, left, -std::numeric_limits<float>::infinity());
    store(scratch + whole, v);
    top = v > top ? v : top;
  }
  float most = top[0];
  for (int lane = 1; lane < W; ++lane) most = top[lane] > most ? top[lane] : most;
  vf total = splat(0.0f);
  for (int64_t i = 0; i < whole + (left > 0 ? W : 0); i += W) {
    vf e = kw::exp(load(scratch + i) - most);
    total += e;
    store(scratch + i, e);
  }
  for (int64_t i = width; i < whole + (left > 0 ? W : 0); ++i) {
    total[i - whole] -= scratch[i];
    scratch[i] = TAKEN;
  }
  return sum_lanes(total);
}

inline int64_t largest(const float* scratch, int64_t padded) {
  vi lanes;
  for (int lane = 0; lane < W; ++lane) lanes[lane] = lane;
  vf best = load(scratch);
  vi where = lanes;
  for (int64_t i = W; i < padded; i += W) {
    vf v = load(scratch + i);
    vi more = v > best;
    best = more ? v : best;
    where = more ? lanes + static_cast<int32_t>(i) : where;
  }
  float value = best[0];
  int32_t column = where[0];
  for (int lane = 1; lane < W; ++lane) {
    bool better = best[lane] > value || (best[lane] == value && where[lane] < column);
    value = better ? best[lane] : value;
    column = better ? where[lane] : column;
  }
  return column;
}

extern "C" void kw_topk_softmax(const TX* x, int64_t stride, float* weights, TI* ids, int64_t rows, int64_t width, int64_t k) {
  parallel(rows, rows * width * int64_t(sizeof(TX)), [&](int64_t begin, int64_t end) {
    int64_t padded = (width + W - 1) / W * W;
    std::vector<float> scratch(padded);
    for (int64_t r = begin; r < end; ++r) {
      float total = exponentials(x + r * stride, width, scratch.data());
      float chosen = 0.0f;
      for (int64_t j = 0; j < k; ++j) {
        int64_t column = largest(scratch.data(), padded);
        float weight = scratch[column] / total;
        scratch[column] = TAKEN;
        weights[r * k + j] = weight;
        ids[r * k + j] = static_cast<TI>(column);
        chosen += weight;
      }
      if (KW_RENORMALISE)
        for (int64_t j = 0; j < k; ++j) weights[r * k + j] /= chosen;
    }
  });
}
