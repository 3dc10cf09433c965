//===- teams.h - Skeletons of kernels: who works together -----------------===//
//
// A kernel of an emitted program is written for a *team* of threads:
//
//   gridThread()   no team: one thread per element
//   Row<32>        a warp works on one row (four rows share a block)
//   Row<256>       a block works on one row
//   Column         32 threads share a column; 32 columns lie side by side
//   Grid           the whole grid works on one reduction
//
//   // y = (x - mean) * rstd                                x, y (rows, 768)
//   __global__ void norm(float *y, const float *x, int64_t rows) {
//     Row<32> team;
//     for (int64_t r = team.first(); r < rows; r += team.step()) {
//       const float *xr = x + r * 768;
//       float mean = team.sum(768, [&](int64_t i) { return xr[i]; }) / 768;
//       ...
//       team.each(768, [&](int64_t i) { y[r * 768 + i] = ...; });
//     }
//   }
//   launch(rank, rowShape<32>(rows), norm, y, x, rows);
//
// Every thread of a team gets every sum. Element i of a loop is the same
// thread's in all loops, so an element written in one loop may be read in the
// next. Sums are added in an order that depends on sizes alone: the same bits
// on every run and on every GPU.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_TEAMS_H
#define MESHRT_CUDA_TEAMS_H

#include "meshrt/cuda/launch.h"
#include "meshrt/cuda/primitives.h"

#include <type_traits>

namespace meshrt {

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace detail {
/// The largest finite integer, infinity for floats.
template <typename T> __host__ __device__ constexpr T upperEnd() {
  if constexpr (std::is_same_v<T, bool>)
    return true;
  else if constexpr (std::is_same_v<T, int32_t>)
    return 0x7fffffff;
  else if constexpr (std::is_same_v<T, int64_t>)
    return 0x7fffffffffffffff;
  else
    return T(INFINITY);
}
template <typename T> __host__ __device__ constexpr T lowerEnd() {
  if constexpr (std::is_same_v<T, bool>)
    return false;
  else if constexpr (std::is_integral_v<T>)
    return -upperEnd<T>() - 1;
  else
    return -upperEnd<T>();
}
} // namespace detail

struct Sum {
  template <typename T> __device__ static constexpr T identity() { return T(0); }
  template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct Prod {
  template <typename T> __device__ static constexpr T identity() { return T(1); }
  template <typename T> __device__ T operator()(T a, T b) const { return a * b; }
};
struct Max {
  template <typename T> __device__ static constexpr T identity() {
    return detail::lowerEnd<T>();
  }
  template <typename T> __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct Min {
  template <typename T> __device__ static constexpr T identity() {
    return detail::upperEnd<T>();
  }
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

//===----------------------------------------------------------------------===//
// No team
//===----------------------------------------------------------------------===//

/// This thread's number in the grid, and how many there are.
__device__ inline int64_t gridThread() {
  return int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t gridThreads() {
  return int64_t(gridDim.x) * blockDim.x;
}

inline LaunchShape mapShape(int64_t n, const char *file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  return {blocksFor(n, 256), 256, 0, file, line};
}

//===----------------------------------------------------------------------===//
// Teams
//===----------------------------------------------------------------------===//

/// What all teams can do. `Team` says: thread(), kThreads (the stride of its
/// loops), combine(value, op).
template <typename Team> struct TeamLoops {
  /// f(i) for i in [0, n), each on one thread.
  template <typename F> __device__ void each(int64_t n, F f) const {
    for (int64_t i = self().thread(); i < n; i += self().threads())
      f(i);
  }

  /// The reduction of f(i) over i in [0, n).
  template <typename F> __device__ auto sum(int64_t n, F f) const {
    return reduce(n, Sum(), f);
  }
  template <typename F> __device__ auto max(int64_t n, F f) const {
    return reduce(n, Max(), f);
  }
  template <typename F> __device__ auto min(int64_t n, F f) const {
    return reduce(n, Min(), f);
  }
  template <typename F> __device__ auto prod(int64_t n, F f) const {
    return reduce(n, Prod(), f);
  }

  /// The reduction of one value per thread, for loops that keep several.
  template <typename T> __device__ T sum(T value) const {
    return self().combine(value, Sum());
  }
  template <typename T> __device__ T max(T value) const {
    return self().combine(value, Max());
  }
  template <typename T> __device__ T min(T value) const {
    return self().combine(value, Min());
  }
  template <typename T> __device__ T prod(T value) const {
    return self().combine(value, Prod());
  }

private:
  __device__ const Team &self() const { return static_cast<const Team &>(*this); }
  template <typename Op, typename F>
  __device__ auto reduce(int64_t n, Op op, F f) const {
    auto value = Op::template identity<std::decay_t<decltype(f(n))>>();
    each(n, [&](int64_t i) { value = op(value, f(i)); });
    return self().combine(value, op);
  }
};

/// Threads of a block in which every warp has a row of its own.
inline constexpr int kRowBlock = 128;

template <int kTeam> struct Row : TeamLoops<Row<kTeam>> {
  static constexpr bool kIsWarp = kTeam == kWarp;
  static constexpr int kRowsPerBlock = kIsWarp ? kRowBlock / kWarp : 1;

  /// The first row of this team, and the distance to its next.
  __device__ int64_t first() const {
    return int64_t(blockIdx.x) * kRowsPerBlock +
           (kIsWarp ? threadIdx.x / kWarp : 0);
  }
  __device__ int64_t step() const { return int64_t(gridDim.x) * kRowsPerBlock; }

  __device__ int thread() const { return kIsWarp ? laneId() : threadIdx.x; }
  __device__ int threads() const { return kTeam; }
  /// True on the thread that writes what the team computed once.
  __device__ bool leads() const { return thread() == 0; }

  template <typename T, typename Op>
  __device__ T combine(T value, Op op) const {
    if constexpr (kIsWarp)
      return warpReduce(value, op);
    else
      return blockReduce<kTeam>(value, op);
  }

  /// Writes of the team before are seen by its reads after.
  __device__ void barrier() const {
    if constexpr (kIsWarp)
      warpBarrier();
    else
      blockBarrier();
  }
};

template <int kTeam>
LaunchShape rowShape(int64_t rows, const char *file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  constexpr int64_t kPerBlock = Row<kTeam>::kRowsPerBlock, kMost = 1 << 20;
  int64_t blocks = (rows + kPerBlock - 1) / kPerBlock;
  return {static_cast<unsigned>(blocks < 1 ? 1 : blocks > kMost ? kMost : blocks),
          Row<kTeam>::kIsWarp ? kRowBlock : kTeam, 0, file, line};
}

/// A block is a square of 32 columns by 32 threads: neighbouring lanes read
/// neighbouring columns. Lanes beyond the last column repeat it and lead
/// nothing.
struct Column : TeamLoops<Column> {
  static constexpr int kTeam = 32;

  __device__ explicit Column(int64_t columns) : columns(columns) {}

  __device__ int64_t index() const {
    int64_t column = mine();
    return column < columns ? column : columns - 1;
  }
  __device__ int thread() const { return threadIdx.x / kWarp; }
  __device__ int threads() const { return kTeam; }
  __device__ bool leads() const { return thread() == 0 && mine() < columns; }

  template <typename T, typename Op>
  __device__ T combine(T value, Op op) const {
    __shared__ T perThread[kTeam][kWarp];
    perThread[thread()][laneId()] = value;
    blockBarrier();
    value = perThread[0][laneId()];
    for (int t = 1; t < kTeam; ++t)
      value = op(value, perThread[t][laneId()]);
    blockBarrier(); // perThread may be written again
    return value;
  }
  __device__ void barrier() const { blockBarrier(); }

private:
  __device__ int64_t mine() const {
    return int64_t(blockIdx.x) * kWarp + laneId();
  }
  int64_t columns;
};

inline LaunchShape columnShape(int64_t columns,
                               const char *file = __builtin_FILE(),
                               int line = __builtin_LINE()) {
  return {static_cast<unsigned>((columns + kWarp - 1) / kWarp),
          Column::kTeam * kWarp, 0, file, line};
}

//===----------------------------------------------------------------------===//
// The whole grid
//===----------------------------------------------------------------------===//

/// A value under reduction and its operation: by<Sum>(loss).
template <typename Op, typename T> struct Reduced {
  T &value;
};
template <typename Op, typename T> __device__ Reduced<Op, T> by(T &value) {
  return {value};
}

/// All blocks reduce together: each leaves its part in memory and takes a
/// ticket; the block with the last one adds the parts in order and goes on
/// alone.
///
///   Grid team;
///   float sum = 0;
///   team.each(n, [&](int64_t i) { sum += x[i] * x[i]; });
///   if (!team.reduce(reduction, by<Sum>(sum)))
///     return;
///   if (team.leads())
///     *norm = sqrtf(sum);
struct Grid : TeamLoops<Grid> {
  static constexpr int kBlock = 256;

  __device__ int64_t thread() const { return gridThread(); }
  __device__ int64_t threads() const { return gridThreads(); }
  __device__ bool leads() const { return threadIdx.x == 0; }

  /// True in the block that goes on; there all threads have the results.
  template <typename... Ops, typename... Ts>
  __device__ bool reduce(Reduction memory, Reduced<Ops, Ts>... values) const {
    static_assert(sizeof...(values) <= Reduction::kValues);
    int slot = 0;
    (leave(memory, slot++, values), ...);
    __shared__ bool isLast;
    deviceFence(); // the parts are seen before the ticket
    blockBarrier();
    if (threadIdx.x == 0)
      isLast = atomicAddInt(memory.tickets, 1) == int(gridDim.x) - 1;
    blockBarrier();
    if (!isLast)
      return false;
    deviceFence();
    if (threadIdx.x == 0)
      *memory.tickets = 0; // for the next reduction
    slot = 0;
    (collect(memory, slot++, values), ...);
    return true;
  }

private:
  template <typename T> __device__ static T *part(Reduction memory, int slot) {
    static_assert(sizeof(T) <= 8);
    return reinterpret_cast<T *>(memory.parts + slot * Reduction::kBlocks * 8);
  }
  template <typename Op, typename T>
  __device__ static void leave(Reduction memory, int slot, Reduced<Op, T> x) {
    T value = blockReduce<kBlock>(x.value, Op());
    if (threadIdx.x == 0)
      part<T>(memory, slot)[blockIdx.x] = value;
  }
  template <typename Op, typename T>
  __device__ static void collect(Reduction memory, int slot, Reduced<Op, T> x) {
    T value = Op::template identity<T>();
    for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock)
      value = Op()(value, part<T>(memory, slot)[b]);
    x.value = blockReduce<kBlock>(value, Op());
  }
};

/// The number of blocks depends on n alone, so sums do too.
inline LaunchShape gridShape(int64_t n, const char *file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
  int64_t blocks = (n + 4 * Grid::kBlock - 1) / (4 * Grid::kBlock);
  int64_t most = Reduction::kBlocks;
  return {static_cast<unsigned>(blocks < 1 ? 1 : blocks > most ? most : blocks),
          Grid::kBlock, 0, file, line};
}

} // namespace meshrt

#endif // MESHRT_CUDA_TEAMS_H
