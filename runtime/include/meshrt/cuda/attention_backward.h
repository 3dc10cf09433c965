//===- attention_backward.h - Attention, backward kernels -----------------===//
//
//   delta[i] = sum_e o[i, e] dO[i, e]
//   p[i, j]  = exp(scale * q[i] . k[j] - lse[i])
//   ds[i, j] = p[i, j] (dO[i] . v[j] - delta[i]) scale
//   dQ[i] = sum_j ds[i, j] k[j]     dK[j] = sum_i ds[i, j] q[i]
//   dV[j] = sum_i p[i, j] dO[i]
//
// One kernel owns tiles of keys (dK, dV; over all query heads of a key head),
// one owns tiles of queries (dQ). Each recomputes p; in exchange nothing is
// added atomically.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_ATTENTION_BACKWARD_H
#define MESHRT_CUDA_ATTENTION_BACKWARD_H

#include "meshrt/cuda/attention_forward.h"

namespace meshrt::attention {

/// A block owns kOwn rows of one side and reads kOther rows of the other.
template <int D> struct Backward {
  static constexpr int kOwn = 64, kOther = 32;
  static constexpr size_t kSharedBytes =
      sizeof(float) * (2 * (kOwn + kOther) * pitch(D) + 2 * kOther * pitch(kOwn));
};

/// delta (batch, heads, queries): a warp per row.
template <typename T>
__global__ void attend_delta_kernel(Attend s, const T *o, const T *dO,
                                    float *delta) {
  Row<kWarp> row;
  int64_t rows = s.batch * s.heads * s.queries;
  for (int64_t r = row.first(); r < rows; r += row.step()) {
    int64_t query = r % s.queries, head = r / s.queries % s.heads;
    int64_t batch = r / (s.queries * s.heads);
    int64_t at = batch * s.o.batch + head * s.o.head + query * s.o.row;
    float sum = row.sum(s.valueDim, [&](int64_t e) {
      return float(o[at + e]) * float(dO[at + e]);
    });
    if (row.thread() == 0)
      delta[r] = sum;
  }
}

/// p and ds of one pair, from the raw products.
struct PairGrad {
  float p, ds;
};
template <typename Mask>
__device__ PairGrad pairGrad(const Attend &s, const Mask &mask, Visible seen,
                             int64_t query, int64_t key, int64_t batch,
                             int64_t head, float qk, float dov, float lse,
                             float delta) {
  bool visible = query < s.queries && key < s.keys &&
                 (seen == Visible::All ||
                  mask(s.firstQuery + query, s.firstKey + key,
                       s.firstBatch + batch, s.firstHead + head));
  if (!visible)
    return {0, 0};
  float p = math::exp(qk * s.scale - lse);
  return {p, p * (dov - delta) * s.scale};
}

/// sums[i][c] += sum over r of weights (kOther, pitch(kOwn)) [r][y + 16 i] *
/// tile (kOther, D) [r][x + 16 c].
template <int D>
__device__ void accumulate(float (&sums)[Backward<D>::kOwn / kSide][D / kSide],
                           const float *weights, const float *tile) {
  int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  for (int r = 0; r < Backward<D>::kOther; ++r)
#pragma unroll
    for (int c = 0; c < D / kSide; ++c) {
      float value = tile[r * pitch(D) + x + kSide * c];
#pragma unroll
      for (int i = 0; i < Backward<D>::kOwn / kSide; ++i)
        sums[i][c] += weights[r * pitch(Backward<D>::kOwn) + y + kSide * i] * value;
    }
}

/// out rows [first, first + kOwn) = sums.
template <int D, typename T>
__device__ void store(T *out,
                      const float (&sums)[Backward<D>::kOwn / kSide][D / kSide],
                      int64_t first, int64_t rows, int64_t dim,
                      int64_t stride) {
  int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  for (int i = 0; i < Backward<D>::kOwn / kSide; ++i) {
    int64_t row = first + y + kSide * i;
    if (row < rows)
#pragma unroll
      for (int c = 0; c < D / kSide; ++c)
        if (x + kSide * c < dim)
          out[row * stride + x + kSide * c] = T(sums[i][c]);
  }
}

template <int D, typename T, typename Mask>
__global__ void __launch_bounds__(kThreads)
    attend_grad_keys_kernel(Attend s, const T *q, const T *k, const T *v,
                            const float *lse, const float *delta, const T *dO,
                            T *dK, T *dV, Mask mask) {
  constexpr int kOwn = Backward<D>::kOwn, kOther = Backward<D>::kOther;
  constexpr int kRows = kOther / kSide, kCols = kOwn / kSide;
  float *kTile = sharedMemory<float>();         // (kOwn, D)
  float *vTile = kTile + kOwn * pitch(D);       // (kOwn, D)
  float *qTile = vTile + kOwn * pitch(D);       // (kOther, D)
  float *dOTile = qTile + kOther * pitch(D);    // (kOther, D)
  float *pTile = dOTile + kOther * pitch(D);    // (kOther, kOwn)
  float *dsTile = pTile + kOther * pitch(kOwn); // (kOther, kOwn)
  int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  int64_t batch = blockIdx.z, group = blockIdx.y;
  int64_t first = int64_t(blockIdx.x) * kOwn;
  int64_t last = first + kOwn < s.keys ? first + kOwn : s.keys;
  int64_t kAt = batch * s.k.batch + group * s.k.head;
  int64_t vAt = batch * s.v.batch + group * s.v.head;
  loadTile<kOwn, D>(kTile, k + kAt, first, s.keys, s.dim, s.k.row);
  loadTile<kOwn, D>(vTile, v + vAt, first, s.keys, s.valueDim, s.v.row);

  float sumK[kCols][D / kSide] = {}, sumV[kCols][D / kSide] = {};
  int64_t perGroup = s.heads / s.kvHeads;
  for (int64_t head = group * perGroup; head < (group + 1) * perGroup; ++head) {
    const T *qHead = q + batch * s.q.batch + head * s.q.head;
    const T *dOHead = dO + batch * s.o.batch + head * s.o.head;
    const float *lseHead = lse + batch * s.lse.batch + head * s.lse.head;
    const float *deltaHead = delta + (batch * s.heads + head) * s.queries;
    for (int64_t query = 0; query < s.queries; query += kOther) {
      int64_t end = query + kOther < s.queries ? query + kOther : s.queries;
      Visible seen =
          visible(mask, s.firstQuery + query, s.firstQuery + end,
                  s.firstKey + first, s.firstKey + last, s.firstBatch + batch,
                  s.firstHead + head);
      if (seen == Visible::None)
        continue;
      blockBarrier(); // the previous tiles are no longer read
      loadTile<kOther, D>(qTile, qHead, query, s.queries, s.dim, s.q.row);
      loadTile<kOther, D>(dOTile, dOHead, query, s.queries, s.valueDim, s.o.row);
      blockBarrier();
      float qk[kRows][kCols], dov[kRows][kCols];
      dotTiles<kRows, kCols, D>(qk, qTile, kTile);
      dotTiles<kRows, kCols, D>(dov, dOTile, vTile);
      for (int i = 0; i < kRows; ++i) {
        int64_t row = query + y + kSide * i;
        float rowLse = row < s.queries ? lseHead[row * s.lse.row] : 0.0f;
        float rowDelta = row < s.queries ? deltaHead[row] : 0.0f;
#pragma unroll
        for (int j = 0; j < kCols; ++j) {
          PairGrad pair =
              pairGrad(s, mask, seen, row, first + x + kSide * j, batch, head,
                       qk[i][j], dov[i][j], rowLse, rowDelta);
          int at = (y + kSide * i) * pitch(kOwn) + x + kSide * j;
          pTile[at] = pair.p;
          dsTile[at] = pair.ds;
        }
      }
      blockBarrier();
      accumulate<D>(sumV, pTile, dOTile);
      accumulate<D>(sumK, dsTile, qTile);
    }
  }
  store<D>(dK + kAt, sumK, first, s.keys, s.dim, s.k.row);
  store<D>(dV + vAt, sumV, first, s.keys, s.valueDim, s.v.row);
}

template <int D, typename T, typename Mask>
__global__ void __launch_bounds__(kThreads)
    attend_grad_queries_kernel(Attend s, const T *q, const T *k, const T *v,
                               const float *lse, const float *delta,
                               const T *dO, T *dQ, Mask mask) {
  constexpr int kOwn = Backward<D>::kOwn, kOther = Backward<D>::kOther;
  constexpr int kRows = kOther / kSide, kCols = kOwn / kSide;
  float *qTile = sharedMemory<float>();      // (kOwn, D)
  float *dOTile = qTile + kOwn * pitch(D);   // (kOwn, D)
  float *kTile = dOTile + kOwn * pitch(D);   // (kOther, D)
  float *vTile = kTile + kOther * pitch(D);  // (kOther, D)
  float *dsTile = vTile + kOther * pitch(D); // (kOther, kOwn): keys are rows
  int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  int64_t batch = blockIdx.z, head = blockIdx.y;
  int64_t group = head / (s.heads / s.kvHeads);
  int64_t first = int64_t(blockIdx.x) * kOwn;
  int64_t last = first + kOwn < s.queries ? first + kOwn : s.queries;
  int64_t qAt = batch * s.q.batch + head * s.q.head;
  k += batch * s.k.batch + group * s.k.head;
  v += batch * s.v.batch + group * s.v.head;
  dO += batch * s.o.batch + head * s.o.head;
  lse += batch * s.lse.batch + head * s.lse.head;
  delta += (batch * s.heads + head) * s.queries;
  loadTile<kOwn, D>(qTile, q + qAt, first, s.queries, s.dim, s.q.row);
  loadTile<kOwn, D>(dOTile, dO, first, s.queries, s.valueDim, s.o.row);

  float sumQ[kCols][D / kSide] = {};
  for (int64_t key = 0; key < s.keys; key += kOther) {
    int64_t end = key + kOther < s.keys ? key + kOther : s.keys;
    Visible seen =
        visible(mask, s.firstQuery + first, s.firstQuery + last,
                s.firstKey + key, s.firstKey + end, s.firstBatch + batch,
                s.firstHead + head);
    if (seen == Visible::None)
      continue;
    blockBarrier(); // the previous tiles are no longer read
    loadTile<kOther, D>(kTile, k, key, s.keys, s.dim, s.k.row);
    loadTile<kOther, D>(vTile, v, key, s.keys, s.valueDim, s.v.row);
    blockBarrier();
    float qk[kRows][kCols], dov[kRows][kCols];
    dotTiles<kRows, kCols, D>(qk, kTile, qTile);
    dotTiles<kRows, kCols, D>(dov, vTile, dOTile);
#pragma unroll
    for (int j = 0; j < kCols; ++j) {
      int64_t row = first + x + kSide * j;
      float rowLse = row < s.queries ? lse[row * s.lse.row] : 0.0f;
      float rowDelta = row < s.queries ? delta[row] : 0.0f;
      for (int i = 0; i < kRows; ++i)
        dsTile[(y + kSide * i) * pitch(kOwn) + x + kSide * j] =
            pairGrad(s, mask, seen, row, key + y + kSide * i, batch, head,
                     qk[i][j], dov[i][j], rowLse, rowDelta)
                .ds;
    }
    blockBarrier();
    accumulate<D>(sumQ, dsTile, kTile);
  }
  store<D>(dQ + qAt, sumQ, first, s.queries, s.dim, s.q.row);
}

} // namespace meshrt::attention

#endif // MESHRT_CUDA_ATTENTION_BACKWARD_H
