//===- attention_forward.h - Attention, forward kernel --------------------===//
//
// A block of 16 x 16 threads owns 64 queries of one head. Thread (y, x) holds,
// of the score tile and of the output, the rows y, y + 16, y + 32, y + 48 and
// the columns x, x + 16, ...; so a row's statistics are a reduction over 16
// neighbouring lanes, and rescaling a row touches only a thread's own registers.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_ATTENTION_FORWARD_H
#define MESHRT_CUDA_ATTENTION_FORWARD_H

#include "meshrt/cuda/teams.h"
#include "meshrt/math.h"
#include "meshrt/shapes.h"

namespace meshrt::attention {

inline constexpr int kSide = 16;               ///< threads per row and column
inline constexpr int kThreads = kSide * kSide; ///< per block

/// Row length of a tile in shared memory: 4 more than the data, so that rows
/// start in different banks and stay aligned to 16 bytes.
MESHRT_HOST_DEVICE constexpr int pitch(int columns) { return columns + 4; }

/// The mask's verdict on a tile, of global indices.
template <typename Mask>
__device__ Visible visible(const Mask &mask, int64_t q0, int64_t q1, int64_t k0,
                           int64_t k1, int64_t batch, int64_t head) {
  if constexpr (requires { mask.block(q0, q1, k0, k1, batch, head); })
    return mask.block(q0, q1, k0, k1, batch, head);
  else
    return Visible::Some;
}

/// tile (kRows, D) = rows [first, first + kRows) of a matrix of `rows` x `dim`,
/// zero outside. All threads of the block.
template <int kRows, int D, typename T>
__device__ void loadTile(float *tile, const T *matrix, int64_t first,
                         int64_t rows, int64_t dim, int64_t stride) {
  for (int i = threadIdx.x; i < kRows * D; i += kThreads) {
    int row = i / D, col = i % D;
    bool inside = first + row < rows && col < dim;
    tile[row * pitch(D) + col] =
        inside ? float(matrix[(first + row) * stride + col]) : 0.0f;
  }
}

/// out[i][j] = dot of row (y + 16 i) of a and row (x + 16 j) of b, both in
/// shared memory with D columns.
template <int kRows, int kCols, int D>
__device__ void dotTiles(float (&out)[kRows][kCols], const float *a,
                         const float *b) {
  int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kCols; ++j)
      out[i][j] = 0;
  for (int d = 0; d < D; d += 4) {
    float4 bs[kCols];
#pragma unroll
    for (int j = 0; j < kCols; ++j)
      bs[j] = *reinterpret_cast<const float4 *>(b + (x + kSide * j) * pitch(D) + d);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float4 as = *reinterpret_cast<const float4 *>(a + (y + kSide * i) * pitch(D) + d);
#pragma unroll
      for (int j = 0; j < kCols; ++j)
        out[i][j] += as.x * bs[j].x + as.y * bs[j].y + as.z * bs[j].z + as.w * bs[j].w;
    }
  }
}

/// Over the 16 lanes that share a row.
template <typename Op> __device__ float rowReduce(float value, Op op) {
  for (int mask = kSide / 2; mask > 0; mask /= 2)
    value = op(value, shuffleXor(value, mask));
  return value;
}

/// Sizes of the forward kernel for head dims up to D.
template <int D> struct Forward {
  static constexpr int kQueries = 64, kKeys = 64;
  static constexpr size_t kSharedBytes =
      sizeof(float) * ((kQueries + 2 * kKeys) * pitch(D) + kQueries * pitch(kKeys));
};

template <int D, typename T, typename Mask>
__global__ void __launch_bounds__(kThreads)
    attend_forward_kernel(Attend s, const T *q, const T *k, const T *v, T *o,
                          float *lse, Mask mask) {
  constexpr int kQueries = Forward<D>::kQueries, kKeys = Forward<D>::kKeys;
  constexpr int kRows = kQueries / kSide, kCols = kKeys / kSide;
  float *qTile = sharedMemory<float>();               // (kQueries, D)
  float *kTile = qTile + kQueries * pitch(D);         // (kKeys, D)
  float *vTile = kTile + kKeys * pitch(D);            // (kKeys, D)
  float *pTile = vTile + kKeys * pitch(D);            // (kQueries, kKeys)
  int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  int64_t batch = blockIdx.z, head = blockIdx.y;
  int64_t group = head / (s.heads / s.kvHeads);
  int64_t first = int64_t(blockIdx.x) * kQueries;
  int64_t last = first + kQueries < s.queries ? first + kQueries : s.queries;
  q += batch * s.q.batch + head * s.q.head;
  k += batch * s.k.batch + group * s.k.head;
  v += batch * s.v.batch + group * s.v.head;
  o += batch * s.o.batch + head * s.o.head;
  lse += batch * s.lse.batch + head * s.lse.head;

  loadTile<kQueries, D>(qTile, q, first, s.queries, s.dim, s.q.row);
  float out[kRows][D / kSide] = {}, top[kRows], total[kRows];
  for (int i = 0; i < kRows; ++i) {
    top[i] = -INFINITY;
    total[i] = 0;
  }
  for (int64_t key = 0; key < s.keys; key += kKeys) {
    int64_t end = key + kKeys < s.keys ? key + kKeys : s.keys;
    Visible seen =
        visible(mask, s.firstQuery + first, s.firstQuery + last,
                s.firstKey + key, s.firstKey + end, s.firstBatch + batch,
                s.firstHead + head);
    if (seen == Visible::None)
      continue;
    blockBarrier(); // the previous tiles are no longer read
    loadTile<kKeys, D>(kTile, k, key, s.keys, s.dim, s.k.row);
    loadTile<kKeys, D>(vTile, v, key, s.keys, s.valueDim, s.v.row);
    blockBarrier();

    float score[kRows][kCols];
    dotTiles<kRows, kCols, D>(score, qTile, kTile);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float best = top[i];
#pragma unroll
      for (int j = 0; j < kCols; ++j) {
        int64_t row = first + y + kSide * i, col = key + x + kSide * j;
        bool visible = col < s.keys && row < s.queries &&
                       (seen == Visible::All ||
                        mask(s.firstQuery + row, s.firstKey + col,
                             s.firstBatch + batch, s.firstHead + head));
        score[i][j] = visible ? score[i][j] * s.scale : -INFINITY;
        best = best > score[i][j] ? best : score[i][j];
      }
      best = rowReduce(best, Max());
      float base = best == -INFINITY ? 0.0f : best; // no key seen so far
      float keep = math::exp(top[i] - base), sum = 0;
#pragma unroll
      for (int j = 0; j < kCols; ++j) {
        float p = math::exp(score[i][j] - base);
        pTile[(y + kSide * i) * pitch(kKeys) + x + kSide * j] = p;
        sum += p;
      }
      total[i] = total[i] * keep + rowReduce(sum, Sum());
      top[i] = best;
#pragma unroll
      for (int c = 0; c < D / kSide; ++c)
        out[i][c] *= keep;
    }
    blockBarrier(); // pTile is complete
    for (int j = 0; j < kKeys; ++j) {
#pragma unroll
      for (int c = 0; c < D / kSide; ++c) {
        float value = vTile[j * pitch(D) + x + kSide * c];
#pragma unroll
        for (int i = 0; i < kRows; ++i)
          out[i][c] += pTile[(y + kSide * i) * pitch(kKeys) + j] * value;
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    int64_t row = first + y + kSide * i;
    if (row >= s.queries)
      continue;
    float inverse = total[i] > 0 ? 1.0f / total[i] : 0.0f;
#pragma unroll
    for (int c = 0; c < D / kSide; ++c)
      if (x + kSide * c < s.valueDim)
        o[row * s.o.row + x + kSide * c] = T(out[i][c] * inverse);
    if (x == 0)
      lse[row * s.lse.row] =
          total[i] > 0 ? top[i] + math::log(total[i]) : -INFINITY;
  }
}

} // namespace meshrt::attention

#endif // MESHRT_CUDA_ATTENTION_FORWARD_H
