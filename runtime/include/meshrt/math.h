//===- math.h - Branch-free f32 functions ---------------------------------===//
//
// exp, log, tanh, erf, sigmoid, sin, cos on f32, written so that a loop over
// them vectorizes (`#pragma omp simd`): selects instead of branches, no tables,
// no calls. Every multiply-add is an explicit fma and every remaining
// operation is correctly rounded by IEEE 754, so the bits are the same under
// any compiler, with or without vectorization and contraction, on CPU and GPU.
//
// Largest errors against f64, found by a test over the whole stated range
// (test/Runtime/MathTest.cpp), in units in the last place (ulp):
//
//   exp      2 ulp   all x; +inf above 88.72, 0 below -103.97
//   log      2 ulp   x > 0, denormals included; log 0 = -inf, log(<0) = NaN
//   tanh     4 ulp   all x
//   erf      2 ulp   all x
//   sigmoid  4 ulp   x > -87; below, the result is denormal or 0
//   sin,cos  2 ulp   |x| <= 2 pi; 1e-7 absolute for |x| <= 1e5
//
// NaN in, NaN out.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_MATH_H
#define MESHRT_MATH_H

#include "meshrt/types.h"

#include <cmath>

namespace meshrt::math {

namespace detail {
MESHRT_ALWAYS_INLINE uint32_t toBits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}
MESHRT_ALWAYS_INLINE float fromBits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
MESHRT_ALWAYS_INLINE float fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}
MESHRT_ALWAYS_INLINE float abs(float x) {
  return fromBits(toBits(x) & 0x7fffffffu);
}
MESHRT_ALWAYS_INLINE float copySign(float magnitude, float sign) {
  return fromBits((toBits(magnitude) & 0x7fffffffu) |
                  (toBits(sign) & 0x80000000u));
}
/// Adding 1.5 * 2^23 leaves the nearest integer in the low mantissa bits.
inline constexpr float kRound = 12582912.0f;
} // namespace detail

/// Unsigned integers in the order of the values: the same total order, with
/// -0 equal to 0 and NaN at an end, wherever elements are sorted.
MESHRT_ALWAYS_INLINE uint32_t ordered(float value) {
  uint32_t bits = detail::toBits(value == 0.0f ? 0.0f : value);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
MESHRT_ALWAYS_INLINE uint32_t ordered(bf16 value) {
  return ordered(static_cast<float>(value));
}
MESHRT_ALWAYS_INLINE uint32_t ordered(int32_t value) {
  return static_cast<uint32_t>(value) ^ 0x80000000u;
}

/// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2) / 2; a degree 6
/// polynomial for e^r, 2^n in two factors so that both ends are reached.
MESHRT_ALWAYS_INLINE float exp(float x) {
  using namespace detail;
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  float shifted = fma(x, 1.44269504088896341f, kRound);
  float n = shifted - kRound;
  float r = fma(n, -0.693145752f, x);
  r = fma(n, -1.42860677e-6f, r);
  float p = 1.37805939e-3f;
  p = fma(p, r, 8.37312452e-3f);
  p = fma(p, r, 4.16695364e-2f);
  p = fma(p, r, 1.66664720e-1f);
  p = fma(p, r, 4.99999851e-1f);
  p = fma(p, r, 1.0f);
  p = fma(p, r, 1.0f);
  int32_t e = static_cast<int32_t>(toBits(shifted) - toBits(kRound));
  int32_t half = e >> 1;
  float a = fromBits(static_cast<uint32_t>(half + 127) << 23);
  float b = fromBits(static_cast<uint32_t>(e - half + 127) << 23);
  return (p * a) * b;
}

/// log x = e ln 2 + log m with m in [2/3, 4/3); a degree 9 polynomial for
/// log(1 + f).
MESHRT_ALWAYS_INLINE float log(float x) {
  using namespace detail;
  bool tiny = x < 1.17549435e-38f;
  float scaled = tiny ? x * 8388608.0f : x;
  float e = tiny ? -23.0f : 0.0f;
  uint32_t bits = toBits(scaled);
  uint32_t shift = (bits - 0x3f2aaaabu) & 0xff800000u;
  float m = fromBits(bits - shift);
  e = fma(static_cast<float>(static_cast<int32_t>(shift)), 1.19209290e-7f, e);
  float f = m - 1.0f;
  float s = f * f;
  // Minimax on [-1/3, 1/3] (N. Juffa, 2014).
  float r = fma(-0.130310059f, f, 0.140869141f);
  r = fma(r, s, fma(-0.121483512f, f, 0.139814854f));
  r = fma(r, f, -0.166846126f);
  r = fma(r, f, 0.200120345f);
  r = fma(r, f, -0.249996200f);
  r = fma(r, f, 0.333331972f);
  r = fma(r, f, -0.500000000f);
  r = fma(r, s, f);
  r = fma(e, 0.693147182f, r);
  r = x > 3.40282347e38f ? x : r;                    // inf
  r = x == 0.0f ? fromBits(0xff800000u) : r;         // -inf
  r = x < 0.0f ? fromBits(0x7fc00000u) : r;          // NaN
  return x != x ? x : r;
}

/// x P(x^2) / Q(x^2), the rational minimax of Eigen's ptanh, on |x| <= 7.905.
MESHRT_ALWAYS_INLINE float tanh(float x) {
  using namespace detail;
  float c = x < -7.90531110763549805f ? -7.90531110763549805f : x;
  c = c > 7.90531110763549805f ? 7.90531110763549805f : c;
  float s = c * c;
  float p = -2.76076847742355e-16f;
  p = fma(p, s, 2.00018790482477e-13f);
  p = fma(p, s, -8.60467152213735e-11f);
  p = fma(p, s, 5.12229709037114e-08f);
  p = fma(p, s, 1.48572235717979e-05f);
  p = fma(p, s, 6.37261928875436e-04f);
  p = fma(p, s, 4.89352455891786e-03f);
  p = p * c;
  float q = 1.19825839466702e-06f;
  q = fma(q, s, 1.18534705686654e-04f);
  q = fma(q, s, 2.26843463243900e-03f);
  q = fma(q, s, 4.89352518554385e-03f);
  float r = abs(x) > 9.02f ? copySign(1.0f, x) : p / q;
  return abs(x) < 4e-4f ? x : r;
}

/// Two ranges: an odd polynomial below 0.93, 1 - exp(polynomial) above
/// (N. Juffa, "my_erff", 2018).
MESHRT_ALWAYS_INLINE float erf(float x) {
  using namespace detail;
  float t = abs(x);
  float s = x * x;
  float r = fma(-1.72853470e-5f, t, 3.83197126e-4f);
  float u = fma(-3.88396438e-3f, t, 2.42546219e-2f);
  r = fma(r, s, u);
  r = fma(r, t, -1.06777877e-1f);
  r = fma(r, t, -6.34846687e-1f);
  r = fma(r, t, -1.28717512e-1f);
  r = fma(r, t, -t);
  float large = copySign(1.0f - exp(r), x);
  float p = -5.96761703e-4f;
  p = fma(p, s, 4.99119423e-3f);
  p = fma(p, s, -2.67681349e-2f);
  p = fma(p, s, 1.12819925e-1f);
  p = fma(p, s, -3.76125336e-1f);
  p = fma(p, s, 1.28379166e-1f);
  float small = fma(p, x, x);
  // Beyond 4 the large range's polynomial is not needed: erf rounds to 1.
  large = t > 4.0f ? copySign(1.0f, x) : large;
  return t > 0.927734375f ? large : small;
}

MESHRT_ALWAYS_INLINE float sigmoid(float x) {
  return 1.0f / (1.0f + exp(-x));
}

namespace detail {
/// sin of x + quadrants * pi / 2: reduce by pi / 2 in three parts, then one
/// polynomial on [-pi / 4, pi / 4].
MESHRT_ALWAYS_INLINE float sinQuadrant(float x, uint32_t quadrants) {
  float shifted = fma(x, 0.636619772f, kRound);
  float n = shifted - kRound;
  float r = fma(n, -1.57079601e+00f, x);
  r = fma(n, -3.13916473e-07f, r);
  r = fma(n, -5.39030253e-15f, r);
  uint32_t q = toBits(shifted) - toBits(kRound) + quadrants;
  float s = r * r;
  float sine = 2.86567956e-6f;
  sine = fma(sine, s, -1.98559923e-4f);
  sine = fma(sine, s, 8.33338592e-3f);
  sine = fma(sine, s, -1.66666672e-1f);
  sine = fma(sine, s * r, r);
  float cosine = 2.44677067e-5f;
  cosine = fma(cosine, s, -1.38877297e-3f);
  cosine = fma(cosine, s, 4.16666567e-2f);
  cosine = fma(cosine, s, -5.00000000e-1f);
  cosine = fma(cosine, s, 1.0f);
  float result = (q & 1u) ? cosine : sine;
  return fromBits(toBits(result) ^ ((q & 2u) << 30));
}
} // namespace detail

MESHRT_ALWAYS_INLINE float sin(float x) {
  return detail::sinQuadrant(x, 0);
}
MESHRT_ALWAYS_INLINE float cos(float x) {
  return detail::sinQuadrant(x, 1);
}

} // namespace meshrt::math

#endif // MESHRT_MATH_H
