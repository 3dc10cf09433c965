//===- philox.h - Counter-based random numbers ----------------------------===//
//
// Philox4x32-10 (Salmon et al., SC 2011; Random123). Every random element of a
// program is a pure function of
//
//   key     = (seed, hash32(path))
//   counter = (index lo, index hi, step, repeats)
//
// where
//   seed     the run's seed, as uint32
//   path     the call path of the random op, or the parameter's path;
//            hash32 is FNV-1a over its bytes
//   index    the element's linear index over *unpadded global* sizes, row-major
//            in the op's dim order; batch before microbatch splitting
//   step     the training step from 0; kInitStep for initial values
//   repeats  mix of the enclosing repeats' indices, outermost first:
//            r = 0; for each index i: r = r * 0x9E3779B1 + i + 1   (mod 2^32)
//
// One element uses one counter, so any element can be computed alone, in any
// order, on any rank. With the four output words w0..w3:
//
//   uniform    u = ((w0 >> 9) + 0.5) * 2^-23, exact in f32, in (0, 1)
//   normal     sqrt(-2 log u) * cos(2 pi u'), u from w0, u' likewise from w1;
//              f32, by the functions of math.h, 2 pi as 6.28318548f
//   keep(p)    (w0 >> 1) < round(p * 2^31): true with probability p
//
// The bits depend neither on the compiler nor on the device (see math.h).
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_PHILOX_H
#define MESHRT_PHILOX_H

#include "meshrt/math.h"

namespace meshrt {

/// The counter's step word for initial values.
inline constexpr uint32_t kInitStep = 0xffffffffu;

/// FNV-1a, 32 bits.
MESHRT_HOST_DEVICE constexpr uint32_t hash32(const char *text) {
  uint32_t hash = 0x811c9dc5u;
  for (; *text; ++text)
    hash = (hash ^ static_cast<uint8_t>(*text)) * 0x01000193u;
  return hash;
}

/// Adds one enclosing repeat's index to the counter's fourth word.
MESHRT_HOST_DEVICE constexpr uint32_t mixRepeat(uint32_t repeats,
                                                uint32_t index) {
  return repeats * 0x9E3779B1u + index + 1u;
}

struct PhiloxWords {
  uint32_t w0, w1, w2, w3;
};

namespace detail {
MESHRT_ALWAYS_INLINE PhiloxWords philoxRound(uint32_t key0, uint32_t key1,
                                             PhiloxWords c) {
  uint64_t a = uint64_t(0xD2511F53u) * c.w0;
  uint64_t b = uint64_t(0xCD9E8D57u) * c.w2;
  return {uint32_t(b >> 32) ^ c.w1 ^ key0, uint32_t(b),
          uint32_t(a >> 32) ^ c.w3 ^ key1, uint32_t(a)};
}
} // namespace detail

MESHRT_ALWAYS_INLINE PhiloxWords philox4x32(uint32_t key0, uint32_t key1,
                                            PhiloxWords c) {
  // Written out: a loop here would keep the loops around it from vectorizing.
  constexpr uint32_t w0 = 0x9E3779B9u, w1 = 0xBB67AE85u;
  c = detail::philoxRound(key0, key1, c);
  c = detail::philoxRound(key0 + w0, key1 + w1, c);
  c = detail::philoxRound(key0 + 2 * w0, key1 + 2 * w1, c);
  c = detail::philoxRound(key0 + 3 * w0, key1 + 3 * w1, c);
  c = detail::philoxRound(key0 + 4 * w0, key1 + 4 * w1, c);
  c = detail::philoxRound(key0 + 5 * w0, key1 + 5 * w1, c);
  c = detail::philoxRound(key0 + 6 * w0, key1 + 6 * w1, c);
  c = detail::philoxRound(key0 + 7 * w0, key1 + 7 * w1, c);
  c = detail::philoxRound(key0 + 8 * w0, key1 + 8 * w1, c);
  c = detail::philoxRound(key0 + 9 * w0, key1 + 9 * w1, c);
  return c;
}

/// One random op at one step: hand it element indices.
struct PhiloxStream {
  uint32_t seed, path, step, repeats;

  MESHRT_ALWAYS_INLINE PhiloxWords words(uint64_t index) const {
    return philox4x32(
        seed, path,
        {uint32_t(index), uint32_t(index >> 32), step, repeats});
  }
  /// In (0, 1).
  MESHRT_ALWAYS_INLINE float uniform(uint64_t index) const {
    return unit(words(index).w0);
  }
  /// Mean 0, standard deviation 1.
  MESHRT_ALWAYS_INLINE float normal(uint64_t index) const {
    PhiloxWords w = words(index);
    float radius = sqrtf(-2.0f * math::log(unit(w.w0)));
    return radius * math::cos(6.28318548f * unit(w.w1));
  }
  /// True with the probability whose threshold is keepThreshold(p).
  MESHRT_ALWAYS_INLINE bool keep(uint64_t index, uint32_t threshold) const {
    return (words(index).w0 >> 1) < threshold;
  }

  static MESHRT_ALWAYS_INLINE float unit(uint32_t word) {
    // 24 significant bits: the sum and the product are exact.
    return (static_cast<float>(static_cast<int32_t>(word >> 9)) + 0.5f) *
           1.1920929e-7f;
  }
};

/// round(p * 2^31) for p in [0, 1].
MESHRT_HOST_DEVICE constexpr uint32_t keepThreshold(double p) {
  return static_cast<uint32_t>(p * 2147483648.0 + 0.5);
}

} // namespace meshrt

#endif // MESHRT_PHILOX_H
