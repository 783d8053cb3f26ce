// out = activation(gate) * up, element by element; gate and up are rows of the same width with their own row strides.
// KW_ACTIVATION: 0 silu, 1 gelu (erf), 2 gelu (tanh), 3 sigmoid, 4 relu.
using namespace kw;
typedef KW_X TX;
typedef KW_OUT TO;

inline vf sigmoid_of(vf v) { return 1.0f / (1.0f + kw::exp(-v)); }

inline vf activate(vf v) {
#if KW_ACTIVATION == 0
  return v / (1.0f + kw::exp(-v));
#elif KW_ACTIVATION == 1
  vf out;
  for (int lane = 0; lane < W; ++lane) out[lane] = 0.5f * v[lane] * (1.0f + std::erf(v[lane] * 0.70710678118654752f));
  return out;
#elif KW_ACTIVATION == 2
  // (1 + tanh(y)) / 2 is sigmoid(2 y), which does not cancel near zero
  return v * sigmoid_of(1.59576912160573071f * (v + 0.044715f * v * v * v));
#elif KW_ACTIVATION == 3
  return sigmoid_of(v);
#else
  return v < 0.0f ? splat(0.0f) : v;
#endif
}

inline void span(const TX* gate, const TX* up, TO* out, int64_t count) {
  int64_t i = 0;
  for (; i + KW_UNROLL * W <= count; i += KW_UNROLL * W)
#pragma GCC unroll 8
    for (int u = 0; u < KW_UNROLL; ++u) store(out + i + u * W, activate(load(gate + i + u * W)) * load(up + i + u * W));
  for (; i + W <= count; i += W) store(out + i, activate(load(gate + i)) * load(up + i));
  if (i < count) store_tail(out + i, activate(load_tail(gate + i, count - i)) * load_tail(up + i, count - i), count - i);
}

extern "C" void kw_gated_activation(const TX* gate, int64_t gate_stride, const TX* up, int64_t up_stride, TO* out,
                                    int64_t rows, int64_t width) {
#if KW_HUGE_PAGES
  prefer_huge_pages(out, rows * width * sizeof(TO));
#endif
  int64_t block = KW_BLOCK;  // columns of one work item
  int64_t blocks = (width + block - 1) / block;
  parallel(rows * blocks, rows * width * int64_t(2 * sizeof(TX) + sizeof(TO)), [&](int64_t begin, int64_t end) {
    alignas(64) TO staged[KW_STREAM ? KW_BLOCK : 1];
    int64_t r = begin / blocks, b = begin % blocks;
    for (int64_t item = begin; item < end; ++item) {
      int64_t from = b * block, count = width - from < block ? width - from : block;
      TO* to = out + r * width + from;
      span(gate + r * gate_stride + from, up + r * up_stride + from, KW_STREAM ? staged : to, count);
      if (KW_STREAM) stream_copy(to, staged, count * sizeof(TO));
      if (++b == blocks) b = 0, ++r;
    }
    if (KW_STREAM) stream_fence();
  });
}
