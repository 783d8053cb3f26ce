// out[c, t] = act(bias[c] + sum over j of weight[c, j] * history[c, t + j]), history = state followed by x, in fp32.
using namespace kw;
typedef KW_X TX;
typedef KW_OUT TO;

template <class T> inline float scalar(const T* p) { return load_tail(p, 1)[0]; }

inline vf activate(vf v, bool silu) { return silu ? v / (1.0f + kw::exp(-v)) : v; }

inline void widen(const TX* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + W <= count; i += W) store(to + i, load(from + i));
  if (i < count) store_tail(to + i, load_tail(from + i, count - i), count - i);
}

struct Problem {
  const TX* x;
  int64_t x_stride;
  const TX* weight;
  const TX* bias;
  const TX* state;
  int64_t channels, steps, taps;
  bool silu;
};

// One channel, lanes along time. `history` has steps + taps - 1 values and W of padding, `taps` weights follow.
inline void along_time(const Problem& p, int64_t c, float* history, float* weights, TO* out) {
  widen(p.state + c * (p.taps - 1), history, p.taps - 1);
  widen(p.x + c * p.x_stride, history + p.taps - 1, p.steps);
  widen(p.weight + c * p.taps, weights, p.taps);
  float bias = p.bias ? scalar(p.bias + c) : 0.0f;
  int64_t t = 0;
  for (; t < p.steps; t += W) {
    vf total = splat(bias);
    for (int64_t j = 0; j < p.taps; ++j) total += load(history + t + j) * weights[j];
    total = activate(total, p.silu);
    if (t + W <= p.steps)
      store(out + t, total);
    else
      store_tail(out + t, total, p.steps - t);
  }
}

// `count` channels (at most W) from `c` on, lanes along channels: for few time steps. The three scratch areas hold the
// state, x and the weights of these channels in fp32, as they lie in memory.
inline void along_channels(const Problem& p, int64_t c, int64_t count, float* state, float* x, float* weights, TO* out) {
  int64_t old = p.taps - 1;
  widen(p.state + c * old, state, count * old);
  if (p.x_stride == p.steps)
    widen(p.x + c * p.x_stride, x, count * p.steps);
  else
    for (int64_t l = 0; l < count; ++l) widen(p.x + (c + l) * p.x_stride, x + l * p.steps, p.steps);
  widen(p.weight + c * p.taps, weights, count * p.taps);
  vf bias = p.bias ? load_tail(p.bias + c, count) : splat(0.0f);
  for (int64_t t = 0; t < p.steps; ++t) {
    alignas(64) float total[W];
    store(total, bias);
    for (int64_t j = 0; j < p.taps; ++j) {
      bool before = t + j < old;
      const float* values = before ? state + t + j : x + t + j - old;
      int64_t stride = before ? old : p.steps;
      for (int64_t l = 0; l < count; ++l) total[l] += values[l * stride] * weights[l * p.taps + j];
    }
    alignas(64) TO column[W];
    store(column, activate(load(total), p.silu));
    if (p.steps == 1) {
      std::memcpy(static_cast<void*>(out), column, count * sizeof(TO));
    } else {
      for (int64_t l = 0; l < count; ++l) out[l * p.steps + t] = column[l];
    }
  }
}

extern "C" void kw_causal_conv(const TX* x, int64_t x_stride, const TX* weight, const TX* bias, const TX* state, TO* out,
                               int64_t channels, int64_t steps, int64_t taps, int64_t silu) {
#if KW_HUGE_PAGES
  prefer_huge_pages(out, channels * steps * sizeof(TO));
#endif
  Problem p{x, x_stride, weight, bias, state, channels, steps, taps, silu != 0};
  bool wide = steps >= W;
  int64_t per_item = wide ? 1 : W;
  int64_t items = (channels + per_item - 1) / per_item;
  int64_t bytes = channels * (steps * int64_t(sizeof(TX) + sizeof(TO)) + 2 * taps * int64_t(sizeof(TX)));
  parallel(items, bytes, [&](int64_t begin, int64_t end) {
    std::vector<float> history(per_item * (steps + taps) + W), old(wide ? 0 : per_item * taps), weights(per_item * taps + W);
    std::vector<TO> staged(KW_STREAM && wide ? steps : 0);
    for (int64_t item = begin; item < end; ++item) {
      int64_t c = item * per_item;
      TO* to = out + c * steps;
      if (!wide) {
        along_channels(p, c, channels - c < W ? channels - c : W, old.data(), history.data(), weights.data(), to);
      } else if (KW_STREAM) {
        along_time(p, c, history.data(), weights.data(), staged.data());
        stream_copy(to, staged.data(), steps * sizeof(TO));
      } else {
        along_time(p, c, history.data(), weights.data(), to);
      }
    }
    if (KW_STREAM) stream_fence();
  });
}
