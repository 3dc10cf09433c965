//===- attention.h - Fused attention, CPU ---------------------------------===//
//
//   s[b, h, i, j] = scale * sum_d q[b, h, i, d] k[b, g, j, d]
//   p             = softmax over j of s where mask(i, j, b, h), else 0
//   o[b, h, i, e] = sum_j p[b, h, i, j] v[b, g, j, e]
//   lse[b, h, i]  = log sum_j exp(s)      over the unmasked j
//
// with key/value head g = h / (heads / kvHeads). Blocks of scores live in
// cache, never in memory (Dao et al., FlashAttention, 2022). A row whose keys
// are all masked gives o = 0, lse = -inf, and no gradient.
//
// A mask is a function object on global indices:
//
//   struct Causal {
//     bool operator()(int64_t query, int64_t key, int64_t batch, int64_t head);
//   };
//
// It may also say which of a block's pairs are visible, so that blocks are
// skipped or computed without the test; see CausalMask::block. A plain lambda
// is fine: then every pair is tested.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CPU_ATTENTION_H
#define MESHRT_CPU_ATTENTION_H

#include "meshrt/cpu/rank.h"
#include "meshrt/shapes.h"

#include <functional>
#include <type_traits>

namespace meshrt {

namespace detail {
/// A mask as the library sees it: `block` classifies, `fill` sets masked
/// scores of a row-major tile (row stride `stride`) to -inf. Global indices.
struct MaskRef {
  const void *mask;
  Visible (*block)(const void *, int64_t q0, int64_t q1, int64_t k0, int64_t k1,
                   int64_t batch, int64_t head);
  void (*fill)(const void *, float *tile, int64_t stride, int64_t q0,
               int64_t q1, int64_t k0, int64_t k1, int64_t batch, int64_t head);
};

template <typename Mask> MaskRef makeMaskRef(const Mask &mask) {
  MaskRef ref;
  ref.mask = &mask;
  ref.block = [](const void *m, int64_t q0, int64_t q1, int64_t k0, int64_t k1,
                 int64_t batch, int64_t head) {
    if constexpr (requires(const Mask &x) { x.block(q0, q1, k0, k1, batch, head); })
      return static_cast<const Mask *>(m)->block(q0, q1, k0, k1, batch, head);
    else
      return Visible::Some;
  };
  ref.fill = [](const void *m, float *tile, int64_t stride, int64_t q0,
                int64_t q1, int64_t k0, int64_t k1, int64_t batch,
                int64_t head) {
    const Mask &mask = *static_cast<const Mask *>(m);
    for (int64_t i = q0; i < q1; ++i)
      for (int64_t j = k0; j < k1; ++j) {
        float &score = tile[(i - q0) * stride + (j - k0)];
        score = mask(i, j, batch, head) ? score : -__builtin_inff();
      }
  };
  return ref;
}

void attendForward(Rank &, const Attend &, const float *q, const float *k,
                   const float *v, float *o, float *lse, const MaskRef &);
void attendForward(Rank &, const Attend &, const bf16 *q, const bf16 *k,
                   const bf16 *v, bf16 *o, float *lse, const MaskRef &);
void attendBackward(Rank &, const Attend &, const float *q, const float *k,
                    const float *v, const float *o, const float *lse,
                    const float *dO, float *dQ, float *dK, float *dV,
                    const MaskRef &);
void attendBackward(Rank &, const Attend &, const bf16 *q, const bf16 *k,
                    const bf16 *v, const bf16 *o, const float *lse,
                    const bf16 *dO, bf16 *dQ, bf16 *dK, bf16 *dV,
                    const MaskRef &);
} // namespace detail

/// Writes o and lse. T: float, bf16 (scores and sums are f32).
template <typename T, typename Mask>
void attendForward(Rank &rank, const Attend &shape, const T *q, const T *k,
                   const T *v, T *o, float *lse, const Mask &mask) {
  detail::attendForward(rank, shape, q, k, v, o, lse, detail::makeMaskRef(mask));
}

/// Writes dQ, dK, dV, laid out as q, k, v; dO is laid out as o. Deterministic
/// for any number of threads.
template <typename T, typename Mask>
void attendBackward(Rank &rank, const Attend &shape, const T *q, const T *k,
                    const T *v, const T *o, const float *lse, const T *dO,
                    T *dQ, T *dK, T *dV, const Mask &mask) {
  detail::attendBackward(rank, shape, q, k, v, o, lse, dO, dQ, dK, dV,
                         detail::makeMaskRef(mask));
}

} // namespace meshrt

#endif // MESHRT_CPU_ATTENTION_H
