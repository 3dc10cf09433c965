//===- attention.h - Fused attention, CUDA --------------------------------===//
//
// The formulas, the mask's contract and the treatment of rows without keys are
// those of cpu/attention.h. Scores live in shared memory and registers, never
// in global memory (Dao et al., FlashAttention, 2022): a block owns a tile of
// queries (forward, dQ) or of keys (dK, dV) and walks over the other side's
// tiles, skipping those that the mask hides. Nothing is added atomically, so
// results have the same bits on every run.
//
// T is float or bf16; scores and sums are f32. Head dims up to 128.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_ATTENTION_H
#define MESHRT_CUDA_ATTENTION_H

#include "meshrt/cuda/attention_backward.h"
#include "meshrt/cuda/attention_forward.h"

namespace meshrt {

namespace attention {
/// Calls `body` with the head dim, rounded up to a compiled size, as a type.
template <typename Body> void withDim(const Attend &shape, const Body &body) {
  int64_t dim = shape.dim > shape.valueDim ? shape.dim : shape.valueDim;
  if (dim <= 32)
    return body(std::integral_constant<int, 32>());
  if (dim <= 64)
    return body(std::integral_constant<int, 64>());
  if (dim <= 96)
    return body(std::integral_constant<int, 96>());
  if (dim <= 128)
    return body(std::integral_constant<int, 128>());
  throw Error("attention over a head dim of " + std::to_string(dim) +
                  "; the CUDA kernels go up to 128",
              Error::kInternal);
}

inline unsigned tiles(int64_t n, int tile) {
  return static_cast<unsigned>((n + tile - 1) / tile);
}
} // namespace attention

/// Writes o and lse.
template <typename T, typename Mask>
void attendForward(Rank &rank, const Attend &s, const T *q, const T *k,
                   const T *v, T *o, float *lse, const Mask &mask) {
  if (s.batch == 0 || s.heads == 0 || s.queries == 0)
    return;
  attention::withDim(s, [&](auto dim) {
    using namespace attention;
    constexpr int D = decltype(dim)::value;
    dim3 grid(tiles(s.queries, Forward<D>::kQueries), s.heads, s.batch);
    launch(rank, {grid, kThreads, Forward<D>::kSharedBytes},
           attend_forward_kernel<D, T, Mask>, s, q, k, v, o, lse, mask);
  });
}

/// Writes dQ, dK, dV, laid out as q, k, v; dO is laid out as o.
template <typename T, typename Mask>
void attendBackward(Rank &rank, const Attend &s, const T *q, const T *k,
                    const T *v, const T *o, const float *lse, const T *dO,
                    T *dQ, T *dK, T *dV, const Mask &mask) {
  if (s.batch == 0 || s.heads == 0)
    return;
  attention::withDim(s, [&](auto dim) {
    using namespace attention;
    constexpr int D = decltype(dim)::value;
    int64_t rows = s.batch * s.heads * s.queries;
    auto *delta = static_cast<float *>(
        rank.scratch(rank.stream(), (rows > 0 ? rows : 1) * sizeof(float)));
    launch(rank, rowShape<kWarp>(rows), attend_delta_kernel<T>, s, o, dO, delta);
    dim3 keyGrid(tiles(s.keys, Backward<D>::kOwn), s.kvHeads, s.batch);
    if (s.keys > 0)
      launch(rank, {keyGrid, kThreads, Backward<D>::kSharedBytes},
             attend_grad_keys_kernel<D, T, Mask>, s, q, k, v, lse,
             static_cast<const float *>(delta), dO, dK, dV, mask);
    dim3 queryGrid(tiles(s.queries, Backward<D>::kOwn), s.heads, s.batch);
    if (s.queries > 0)
      launch(rank, {queryGrid, kThreads, Backward<D>::kSharedBytes},
             attend_grad_queries_kernel<D, T, Mask>, s, q, k, v, lse,
             static_cast<const float *>(delta), dO, dQ, mask);
  });
}

} // namespace meshrt

#endif // MESHRT_CUDA_ATTENTION_H
