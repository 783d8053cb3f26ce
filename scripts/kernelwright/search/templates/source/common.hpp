// Shared by every template. Portable C++17 with GCC/Clang vector extensions: lanes are explicit, so no flag that gives
// up NaN or infinity (-ffast-math) is needed for reductions to vectorise.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>
#include <omp.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__SSE2__) || defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace kw {

#ifndef KW_WIDTH
#if defined(__AVX512F__)
#define KW_WIDTH 16
#elif defined(__AVX2__)
#define KW_WIDTH 8
#else
#define KW_WIDTH 4
#endif
#endif

constexpr int W = KW_WIDTH;
typedef float vf __attribute__((vector_size(4 * KW_WIDTH)));
typedef int32_t vi __attribute__((vector_size(4 * KW_WIDTH)));
typedef uint32_t vu __attribute__((vector_size(4 * KW_WIDTH)));
typedef uint16_t vh __attribute__((vector_size(2 * KW_WIDTH)));
typedef uint8_t vb __attribute__((vector_size(KW_WIDTH)));

struct bf16 { uint16_t bits; };
struct f16 { uint16_t bits; };

template <class To, class From> inline To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To out;
  std::memcpy(&out, &value, sizeof(out));
  return out;
}

inline vf splat(float value) { return vf{} + value; }

// ---- element types: load W lanes as fp32, store W lanes with one rounding (nearest even, NaN kept) ----
inline vf load(const float* p) { vf v; std::memcpy(&v, p, sizeof(v)); return v; }
inline void store(float* p, vf v) { std::memcpy(p, &v, sizeof(v)); }

inline vf load(const bf16* p) {
  vh h;
  std::memcpy(&h, p, sizeof(h));
  return bits_of<vf>(__builtin_convertvector(h, vu) << 16);
}
inline void store(bf16* p, vf v) {
  vu u = bits_of<vu>(v);
  vu rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  vu out = (u & 0x7fffffffu) > 0x7f800000u ? vu{} + 0x7fc0u : rounded;
  vh h = __builtin_convertvector(out, vh);
  std::memcpy(p, &h, sizeof(h));
}

#if defined(KW_NEEDS_F16)
inline float f16_to_float(f16 value) {
#if defined(__FLT16_MAX__)
  return static_cast<float>(bits_of<_Float16>(value.bits));
#elif defined(__ARM_FP16_FORMAT_IEEE)
  return static_cast<float>(bits_of<__fp16>(value.bits));
#else
#error "this compiler has no half-precision type"
#endif
}
inline f16 f16_from_float(float value) {
#if defined(__FLT16_MAX__)
  return f16{bits_of<uint16_t>(static_cast<_Float16>(value))};
#elif defined(__ARM_FP16_FORMAT_IEEE)
  return f16{bits_of<uint16_t>(static_cast<__fp16>(value))};
#endif
}
inline vf load(const f16* p) {
#if defined(__AVX512F__) && KW_WIDTH == 16
  return bits_of<vf>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__F16C__) && KW_WIDTH == 8
  return bits_of<vf>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
  vf v;
  for (int lane = 0; lane < W; ++lane) v[lane] = f16_to_float(p[lane]);
  return v;
#endif
}
inline void store(f16* p, vf v) {
#if defined(__AVX512F__) && KW_WIDTH == 16
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(bits_of<__m512>(v), 0));
#elif defined(__F16C__) && KW_WIDTH == 8
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(bits_of<__m256>(v), 0));
#else
  for (int lane = 0; lane < W; ++lane) p[lane] = f16_from_float(v[lane]);
#endif
}
#endif

// A tail of fewer than W elements goes through a padded buffer; the pad reads as `fill`.
template <class T> inline vf load_tail(const T* p, int64_t count, float fill = 0.0f) {
  alignas(64) T buffer[W];
  std::memset(static_cast<void*>(buffer), 0, sizeof(buffer));
  std::memcpy(static_cast<void*>(buffer), p, count * sizeof(T));
  vf v = load(buffer);
  for (int lane = static_cast<int>(count); lane < W; ++lane) v[lane] = fill;
  return v;
}
template <class T> inline void store_tail(T* p, vf v, int64_t count) {
  alignas(64) T buffer[W];
  store(buffer, v);
  std::memcpy(static_cast<void*>(p), buffer, count * sizeof(T));
}

// Pairwise sum of the lanes by halves, so that it stays in registers.
template <int N, class V> inline float sum_halves(V v) {
  if constexpr (N == 1) {
    return bits_of<float>(v);
  } else {
    typedef float half __attribute__((vector_size(2 * N)));
    half low, high;
    std::memcpy(&low, &v, sizeof(half));
    std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof(half), sizeof(half));
    return sum_halves<N / 2, half>(low + high);
  }
}
inline float sum_lanes(vf v) { return sum_halves<W, vf>(v); }

// exp by 2^n * P(r), |r| <= ln2/2, degree 6: below 1 ulp of fp32 off; overflows to inf, underflows to 0, keeps NaN.
inline vf exp(vf x) {
  vf y = x > 89.0f ? splat(89.0f) : x;
  y = y < -104.0f ? splat(-104.0f) : y;
  vf scaled = y * 1.44269504088896341f;
  vf shifter = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to the nearest integer
  vf rounded = (scaled + shifter) - shifter;
  vf r = y - rounded * 0.693359375f;
  r = r + rounded * 2.12194440e-4f;
  vf p = splat(1.0f / 720);
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  vi n = __builtin_convertvector(rounded, vi);
  vi half = n >> 1;  // two steps, so that 2^n may overflow or become denormal
  vf first = bits_of<vf>((half + 127) << 23);
  vf second = bits_of<vf>((n - half + 127) << 23);
  return p * first * second;
}

// ---- memory ----
// Ask for huge pages for a large fresh output: the first touch of 4 kB pages costs more than the arithmetic.
inline void prefer_huge_pages(void* p, int64_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr uintptr_t page = 4096;
  uintptr_t begin = (reinterpret_cast<uintptr_t>(p) + page - 1) & ~(page - 1);
  uintptr_t end = (reinterpret_cast<uintptr_t>(p) + bytes) & ~(page - 1);
  if (end > begin && end - begin >= (uintptr_t(4) << 20)) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// Copy with stores that bypass the caches where the instruction set and the alignment allow it.
inline void stream_copy(void* to, const void* from, int64_t bytes) {
  char* d = static_cast<char*>(to);
  const char* s = static_cast<const char*>(from);
  int64_t i = 0;
#if defined(__AVX512F__)
  if (reinterpret_cast<uintptr_t>(d) % 64 == 0)
    for (; i + 64 <= bytes; i += 64) _mm512_stream_si512(reinterpret_cast<__m512i*>(d + i), _mm512_loadu_si512(s + i));
#elif defined(__AVX2__)
  if (reinterpret_cast<uintptr_t>(d) % 32 == 0)
    for (; i + 32 <= bytes; i += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(d + i), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(s + i)));
#endif
  std::memcpy(d + i, s + i, bytes - i);
}
inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Contiguous share [begin, end) of `count` items for one of `parts` threads.
inline void share(int64_t count, int parts, int part, int64_t& begin, int64_t& end) {
  int64_t base = count / parts, extra = count % parts;
  begin = part * base + (part < extra ? part : extra);
  end = begin + base + (part < extra ? 1 : 0);
}

// Run body(begin, end) over `count` items: serial below KW_PARALLEL_BYTES of traffic, where a fork costs more than it gives.
template <class Body> inline void parallel(int64_t count, int64_t bytes, Body body) {
  if (count <= 0) return;
  int threads = bytes < KW_PARALLEL_BYTES ? 1 : omp_get_max_threads();
  if (threads > count) threads = static_cast<int>(count);
  if (threads <= 1) {
    body(int64_t(0), count);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
#if KW_CHUNK > 0
    int64_t chunks = (count + KW_CHUNK - 1) / KW_CHUNK;
#pragma omp for schedule(dynamic, 1)
    for (int64_t c = 0; c < chunks; ++c)
      body(c * KW_CHUNK, c * KW_CHUNK + KW_CHUNK < count ? c * KW_CHUNK + KW_CHUNK : count);
#else
    int64_t begin, end;
    share(count, omp_get_num_threads(), omp_get_thread_num(), begin, end);
    if (begin < end) body(begin, end);
#endif
  }
}

}  // namespace kw
