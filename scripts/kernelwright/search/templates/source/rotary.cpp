// Rotation of the first 2 * half dimensions of every head by the angles of its token; the others are copied.
// Dimension i takes its angle from table row axes[i]. Pairs are (i, i + half) when split, else (2 i, 2 i + 1).
using namespace kw;
typedef KW_X TX;
typedef KW_TABLE TT;

struct Heads {
  const TX* x;
  int64_t stride;  // of a token, in elements
  TX* out;
  int64_t count;
};

inline void turn_split(const TX* x, const float* cos, const float* sin, int64_t half, TX* out) {
  int64_t i = 0;
  for (; i + W <= half; i += W) {
    vf a = load(x + i), b = load(x + half + i), c = load(cos + i), s = load(sin + i);
    store(out + i, a * c - b * s);
    store(out + half + i, b * c + a * s);
  }
  int64_t left = half - i;
  if (left == 0) return;
  vf a = load_tail(x + i, left), b = load_tail(x + half + i, left);
  vf c = load_tail(cos + i, left), s = load_tail(sin + i, left);
  store_tail(out + i, a * c - b * s, left);
  store_tail(out + half + i, b * c + a * s, left);
}

inline void turn_pairs(const TX* x, const float* cos, const float* sin, int64_t half, TX* out) {
  for (int64_t i = 0; i < half; i += W) {
    int64_t count = half - i < W ? half - i : W;
    alignas(64) float even[W] = {}, odd[W] = {};
    alignas(64) TX first[W], second[W];
    for (int64_t l = 0; l < count; ++l) {
      vf pair = load_tail(x + 2 * (i + l), 2);
      even[l] = pair[0];
      odd[l] = pair[1];
    }
    vf a = load(even), b = load(odd), c = load_tail(cos + i, count), s = load_tail(sin + i, count);
    store(first, a * c - b * s);
    store(second, b * c + a * s);
    for (int64_t l = 0; l < count; ++l) {
      out[2 * (i + l)] = first[l];
      out[2 * (i + l) + 1] = second[l];
    }
  }
}

inline void turn_token(const Heads& heads, int64_t token, int64_t size, const float* cos, const float* sin, int64_t half,
                       bool split, TX* staged) {
  const TX* x = heads.x + token * heads.stride;
  TX* out = heads.out + token * heads.count * size;
  for (int64_t h = 0; h < heads.count; ++h, x += size, out += size) {
    TX* to = KW_STREAM ? staged : out;
    if (split)
      turn_split(x, cos, sin, half, to);
    else
      turn_pairs(x, cos, sin, half, to);
    if (2 * half < size) std::memcpy(static_cast<void*>(to + 2 * half), x + 2 * half, (size - 2 * half) * sizeof(TX));
    if (KW_STREAM) stream_copy(out, staged, size * sizeof(TX));
  }
}

extern "C" void kw_rotary(const TX* q, int64_t q_stride, TX* q_out, int64_t q_heads, const TX* k, int64_t k_stride, TX* k_out,
                          int64_t k_heads, const TT* cos, const TT* sin, const int64_t* axes, int64_t tokens, int64_t size,
                          int64_t half, int64_t split) {
#if KW_HUGE_PAGES
  prefer_huge_pages(q_out, tokens * q_heads * size * sizeof(TX));
  prefer_huge_pages(k_out, tokens * k_heads * size * sizeof(TX));
#endif
  Heads queries{q, q_stride, q_out, q_heads}, keys{k, k_stride, k_out, k_heads};
  parallel(tokens, tokens * (q_heads + k_heads) * size * int64_t(2 * sizeof(TX)), [&](int64_t begin, int64_t end) {
    std::vector<float> c(half + W), s(half + W);
    std::vector<TX> staged(KW_STREAM ? size : 0);
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t i = 0; i < half;) {  // one run of dimensions of the same axis after the other
        int64_t axis = axes[i], run = i;
        while (run < half && axes[run] == axis) ++run;
        int64_t from = (axis * tokens + t) * half;
        for (; i + W <= run; i += W) {
          store(c.data() + i, load(cos + from + i));
          store(s.data() + i, load(sin + from + i));
        }
        if (i < run) {
          store_tail(c.data() + i, load_tail(cos + from + i, run - i), run - i);
          store_tail(s.data() + i, load_tail(sin + from + i, run - i), run - i);
        }
        i = run;
      }
      turn_token(queries, t, size, c.data(), s.data(), half, split != 0, staged.data());
      turn_token(keys, t, size, c.data(), s.data(), half, split != 0, staged.data());
    }
    if (KW_STREAM) stream_fence();
  });
}
