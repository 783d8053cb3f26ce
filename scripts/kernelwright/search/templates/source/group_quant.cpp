// Per group of the last axis: scale = max(|x|, eps) / largest, q = x / scale rounded to float8_e4m3fn (nearest even).
using namespace kw;
typedef KW_X TX;

inline vu magnitude(vf v) { return bits_of<vu>(v) & 0x7fffffffu; }

// Lanes within +-448 or NaN to the bits of float8_e4m3fn: exponent bias 7, 3 bits of mantissa, steps of 2^-9 below 2^-6.
inline vb to_fp8(vf v) {
  vu bits = bits_of<vu>(v);
  vu a = bits & 0x7fffffffu;
  vu normal = (a + 0x7ffffu + ((a >> 20) & 1u) - (120u << 23)) >> 20;
  vf shifted = bits_of<vf>(a) + 16384.0f;  // its last bit is worth 2^-9: the addition rounds
  vu denormal = bits_of<vu>(shifted) - bits_of<uint32_t>(16384.0f);
  vu out = a < (121u << 23) ? denormal : normal;
  out = a > 0x7f800000u ? vu{} + 0x7fu : out;
  return __builtin_convertvector(out | ((bits >> 24) & 0x80u), vb);
}

inline vf divided(vf v, float scale, float inverse) {
  vf q = KW_RECIPROCAL ? v * inverse : v / scale;
  q = q > KW_LARGEST ? splat(KW_LARGEST) : q;
  return q < -KW_LARGEST ? splat(-KW_LARGEST) : q;
}

// Largest magnitude as bits: as unsigned integers, NaN is above infinity and so is kept.
inline float largest_of(const TX* x, int64_t group) {
  vu most[KW_UNROLL];
  for (int u = 0; u < KW_UNROLL; ++u) most[u] = vu{};
  int64_t i = 0;
  for (; i + KW_UNROLL * W <= group; i += KW_UNROLL * W)
    for (int u = 0; u < KW_UNROLL; ++u) {
      vu a = magnitude(load(x + i + u * W));
      most[u] = a > most[u] ? a : most[u];
    }
  for (; i < group; i += W) {
    vu a = magnitude(i + W <= group ? load(x + i) : load_tail(x + i, group - i));
    most[0] = a > most[0] ? a : most[0];
  }
  uint32_t top = 0;
  for (int u = 1; u < KW_UNROLL; ++u) most[0] = most[u] > most[0] ? most[u] : most[0];
  for (int lane = 0; lane < W; ++lane) top = most[0][lane] > top ? most[0][lane] : top;
  return bits_of<float>(top);
}

inline void quantise(const TX* x, uint8_t* q, float* scale_out, int64_t group, float eps) {
  float most = largest_of(x, group);
  float scale = (most < eps ? eps : most) / KW_LARGEST;
  float inverse = 1.0f / scale;
  *scale_out = scale;
  int64_t i = 0;
  for (; i + W <= group; i += W) {
    vb bytes = to_fp8(divided(load(x + i), scale, inverse));
    std::memcpy(q + i, &bytes, W);
  }
  if (i < group) {
    vb bytes = to_fp8(divided(load_tail(x + i, group - i), scale, inverse));
    std::memcpy(q + i, &bytes, group - i);
  }
}

extern "C" void kw_group_quant(const TX* x, int64_t stride, uint8_t* q, float* scales, int64_t rows, int64_t groups,
                               int64_t group, float eps) {
#if KW_HUGE_PAGES
  prefer_huge_pages(q, rows * groups * group);
#endif
  parallel(rows * groups, rows * groups * (group * int64_t(sizeof(TX) + 1) + 4), [&](int64_t begin, int64_t end) {
    int64_t r = begin / groups, g = begin % groups;
    for (int64_t item = begin; item < end; ++item) {
      quantise(x + r * stride + g * group, q + item * group, scales + item, group, eps);
      if (++g == groups) g = 0, ++r;
    }
  });
}
