//===- rows.h - Skeletons of row kernels ----------------------------------===//
//
// A row kernel reduces along contiguous rows and maps the result back over
// them: layer norm, softmax, bias and residual fused in front. A `Row` is the
// team of threads that works on one row: a warp (several rows per block) for
// short rows, a whole block for long ones.
//
//   // y = (x - mean) * rstd                                x, y (rows, 768)
//   __global__ void norm_kernel(float *y, const float *x, int64_t rows) {
//     Row<256> row;
//     for (int64_t r = row.first(); r < rows; r += row.step()) {
//       const float *xr = x + r * 768;
//       float mean = row.sum(768, [&](int64_t i) { return xr[i]; }) / 768;
//       ...
//       row.each(768, [&](int64_t i) { y[r * 768 + i] = ...; });
//     }
//   }
//   launch(rank, rowShape<256>(rows), norm_kernel, y, x, rows);
//
// Every thread of the team gets every sum. Sums are added in a fixed order, so
// results are the same bits on every run.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_ROWS_H
#define MESHRT_CUDA_ROWS_H

#include "meshrt/cuda/launch.h"
#include "meshrt/cuda/primitives.h"

namespace meshrt {

struct Sum {
  template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct Max {
  template <typename T> __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct Min {
  template <typename T> __device__ T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

/// Reduces one value per lane over the warp; all lanes get the result.
template <typename T, typename Op> __device__ T warpReduce(T value, Op op) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2)
    value = op(value, shuffleXor(value, mask));
  return value;
}

/// Reduces one value per thread over a block of kThreads threads; all threads
/// get the result. Every thread must call.
template <int kThreads, typename T, typename Op>
__device__ T blockReduce(T value, Op op) {
  static_assert(kThreads % kWarp == 0 && kThreads <= 1024);
  value = warpReduce(value, op);
  if constexpr (kThreads > kWarp) {
    constexpr int kWarps = kThreads / kWarp;
    __shared__ T perWarp[kWarps];
    if (laneId() == 0)
      perWarp[threadIdx.x / kWarp] = value;
    blockBarrier();
    value = perWarp[0];
    for (int w = 1; w < kWarps; ++w)
      value = op(value, perWarp[w]);
    blockBarrier(); // perWarp may be written again
  }
  return value;
}

/// Threads of a block of row kernels: warps share a block.
inline constexpr int kRowBlock = 128;

template <int kTeam> struct Row {
  static constexpr bool kIsWarp = kTeam == kWarp;
  static constexpr int kRowsPerBlock = kIsWarp ? kRowBlock / kWarp : 1;

  /// The first row of this team, and the distance to its next.
  __device__ int64_t first() const {
    return int64_t(blockIdx.x) * kRowsPerBlock +
           (kIsWarp ? threadIdx.x / kWarp : 0);
  }
  __device__ int64_t step() const {
    return int64_t(gridDim.x) * kRowsPerBlock;
  }
  /// Position in the team.
  __device__ int thread() const { return kIsWarp ? laneId() : threadIdx.x; }

  /// Reduces f(i) over i in [0, n); `identity` for n == 0.
  template <typename T, typename Op, typename F>
  __device__ T reduce(int64_t n, T identity, Op op, F f) const {
    T value = identity;
    for (int64_t i = thread(); i < n; i += kTeam)
      value = op(value, f(i));
    return combine(value, op);
  }

  template <typename F> __device__ auto sum(int64_t n, F f) const {
    using T = decltype(f(n));
    return reduce(n, T(0), Sum(), f);
  }
  template <typename F> __device__ float max(int64_t n, F f) const {
    return reduce(n, -INFINITY, Max(), f);
  }
  template <typename F> __device__ float min(int64_t n, F f) const {
    return reduce(n, INFINITY, Min(), f);
  }

  /// Reduces one value per thread of the team, for kernels that keep several
  /// sums in one pass over the row.
  template <typename T, typename Op>
  __device__ T combine(T value, Op op) const {
    if constexpr (kIsWarp)
      return warpReduce(value, op);
    else
      return blockReduce<kTeam>(value, op);
  }
  template <typename T> __device__ T sum(T value) const {
    return combine(value, Sum());
  }

  /// f(i) for i in [0, n), each on one thread.
  template <typename F> __device__ void each(int64_t n, F f) const {
    for (int64_t i = thread(); i < n; i += kTeam)
      f(i);
  }

  /// Writes of the team before are seen by its reads after.
  __device__ void barrier() const {
    if constexpr (kIsWarp)
      warpBarrier();
    else
      blockBarrier();
  }
};

/// Grid and block for `rows` rows.
template <int kTeam>
LaunchShape rowShape(int64_t rows, const char *file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  int64_t blocks = (rows + Row<kTeam>::kRowsPerBlock - 1) / Row<kTeam>::kRowsPerBlock;
  return {static_cast<unsigned>(blocks < 1 ? 1 : blocks > 1 << 20 ? 1 << 20 : blocks),
          Row<kTeam>::kIsWarp ? kRowBlock : kTeam, 0, file, line};
}

} // namespace meshrt

#endif // MESHRT_CUDA_ROWS_H
