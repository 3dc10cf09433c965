//===- reduce.h - Deterministic reductions over rows and over everything --===//
//
// Both work in two phases: a grid whose shape depends on the sizes alone leaves
// partial results in scratch memory, a second kernel adds them in order and
// hands each result to a function object. So sums have the same bits on every
// run and on every GPU.
//
//   // grad(b1) += sum over rows of dh                      dh (rows, 3072)
//   struct GradB1 {
//     const float *dh; float *out;
//     __device__ float operator()(int64_t row, int64_t col) const {
//       return dh[row * 3072 + col];
//     }
//     __device__ void finish(int64_t col, float sum) const { out[col] += sum; }
//   };
//   reduceColumns<Sum>(rank, rows, 3072, 0.0f, GradB1{dh, out});
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_REDUCE_H
#define MESHRT_CUDA_REDUCE_H

#include "meshrt/cuda/rows.h"

namespace meshrt {

inline constexpr int kColumnThreads = 32; ///< columns per block: coalesced
inline constexpr int kColumnTeams = 8;    ///< rows read side by side
inline constexpr int64_t kRowsPerChunk = 256;

/// partial (chunks, cols) from f (rows, cols): block (x, y) owns 32 columns and
/// one chunk of rows.
template <typename Op, typename T, typename F>
__global__ void column_chunks_kernel(T *partial, int64_t rows, int64_t cols,
                                     T identity, F f) {
  __shared__ T teams[kColumnTeams][kColumnThreads];
  int lane = threadIdx.x % kColumnThreads, team = threadIdx.x / kColumnThreads;
  int64_t col = int64_t(blockIdx.x) * kColumnThreads + lane;
  int64_t begin = int64_t(blockIdx.y) * kRowsPerChunk;
  int64_t end = begin + kRowsPerChunk < rows ? begin + kRowsPerChunk : rows;
  Op op;
  T value = identity;
  if (col < cols)
    for (int64_t row = begin + team; row < end; row += kColumnTeams)
      value = op(value, f(row, col));
  teams[team][lane] = value;
  blockBarrier();
  if (team == 0 && col < cols) {
    for (int t = 1; t < kColumnTeams; ++t)
      value = op(value, teams[t][lane]);
    partial[int64_t(blockIdx.y) * cols + col] = value;
  }
}

/// One thread per column adds its chunks in order.
template <typename Op, typename T, typename F>
__global__ void column_finish_kernel(const T *partial, int64_t chunks,
                                     int64_t cols, T identity, F f) {
  Op op;
  for (int64_t col = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; col < cols;
       col += int64_t(gridDim.x) * blockDim.x) {
    T value = identity;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      value = op(value, partial[chunk * cols + col]);
    f.finish(col, value);
  }
}

/// f.finish(col, reduction of f(row, col) over rows) for every column. At most
/// 65535 * 256 rows.
template <typename Op, typename T, typename F>
void reduceColumns(Rank &rank, int64_t rows, int64_t cols, T identity,
                   const F &f) {
  int64_t chunks = (rows + kRowsPerChunk - 1) / kRowsPerChunk;
  auto *partial = static_cast<T *>(
      rank.scratch(rank.stream(), (chunks > 0 ? chunks : 1) * cols * sizeof(T)));
  dim3 grid(static_cast<unsigned>((cols + kColumnThreads - 1) / kColumnThreads),
            static_cast<unsigned>(chunks));
  if (chunks > 0)
    launch(rank, {grid, kColumnThreads * kColumnTeams},
           column_chunks_kernel<Op, T, F>, partial, rows, cols, identity, f);
  launch(rank, {blocksFor(cols, 256), 256}, column_finish_kernel<Op, T, F>,
         static_cast<const T *>(partial), chunks, cols, identity, f);
}

inline constexpr int kReduceThreads = 256;
inline constexpr int64_t kReduceBlocks = 512;

/// partial (gridDim) from f (n).
template <typename Op, typename T, typename F>
__global__ void reduce_chunks_kernel(T *partial, int64_t n, T identity, F f) {
  Op op;
  T value = identity;
  for (int64_t i = blockIdx.x * int64_t(kReduceThreads) + threadIdx.x; i < n;
       i += int64_t(gridDim.x) * kReduceThreads)
    value = op(value, f(i));
  value = blockReduce<kReduceThreads>(value, op);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = value;
}

template <typename Op, typename T, typename F>
__global__ void reduce_finish_kernel(const T *partial, int64_t count,
                                     T identity, F f) {
  Op op;
  T value = identity;
  for (int64_t i = threadIdx.x; i < count; i += kReduceThreads)
    value = op(value, partial[i]);
  value = blockReduce<kReduceThreads>(value, op);
  if (threadIdx.x == 0)
    f.finish(value);
}

/// f.finish(reduction of f(i) over i in [0, n)), on the device.
template <typename Op, typename T, typename F>
void reduceAll(Rank &rank, int64_t n, T identity, const F &f) {
  int64_t blocks = (n + kReduceThreads - 1) / kReduceThreads;
  blocks = blocks < 1 ? 1 : blocks > kReduceBlocks ? kReduceBlocks : blocks;
  auto *partial =
      static_cast<T *>(rank.scratch(rank.stream(), kReduceBlocks * sizeof(T)));
  launch(rank, {static_cast<unsigned>(blocks), kReduceThreads},
         reduce_chunks_kernel<Op, T, F>, partial, n, identity, f);
  launch(rank, {1, kReduceThreads}, reduce_finish_kernel<Op, T, F>,
         static_cast<const T *>(partial), blocks, identity, f);
}

} // namespace meshrt

#endif // MESHRT_CUDA_REDUCE_H
