//===- GatherScatter.cu - Rows of a table by index ------------------------===//
//
// The scatter is deterministic without atomics on floats: rows of the gradient
// are sorted by index (a counting sort whose slots are then put in order), and
// a block per table row adds its contributions in that order.
//
//===----------------------------------------------------------------------===//
#include "meshrt/cuda/kernels.h"
#include "meshrt/cuda/launch.h"
#include "meshrt/cuda/primitives.h"

using namespace meshrt;

namespace {

/// out (rows, width) = table (tableRows, width) [indices (rows) - first].
template <typename T>
__global__ void gather_rows_kernel(T *out, const T *table,
                                   const int32_t *indices, int64_t rows,
                                   int64_t width, int64_t first,
                                   int64_t tableRows) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
       i < rows * width; i += int64_t(gridDim.x) * blockDim.x) {
    int64_t row = indices[i / width] - first;
    out[i] = row >= 0 && row < tableRows ? table[row * width + i % width]
                                         : T(0.0f);
  }
}

/// Where the rows of a gradient go: that of batch b, (rows) of them, into the
/// rows [b * tableRows, (b + 1) * tableRows) of the table.
struct Target {
  const int32_t *indices; // (batches, rows)
  int64_t rows, first, tableRows;

  /// The table's row for row i of all batches, -1 for none.
  __device__ int64_t operator()(int64_t i) const {
    int64_t row = indices[i] - first;
    return row >= 0 && row < tableRows ? i / rows * tableRows + row : -1;
  }
};

/// counts (table's rows) += occurrences of each row. counts start at zero.
__global__ void count_kernel(int32_t *counts, Target target, int64_t rows) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < rows;
       i += int64_t(gridDim.x) * blockDim.x)
    if (int64_t row = target(i); row >= 0)
      atomicAddInt(&counts[row], 1);
}

constexpr int kScanThreads = 1024;

/// starts (tableRows + 1) = exclusive prefix sums of counts, which become zero
/// again. One block walks over the table.
__global__ void scan_kernel(int32_t *starts, int32_t *counts,
                            int64_t tableRows) {
  __shared__ int32_t sums[kScanThreads];
  int t = threadIdx.x;
  int32_t total = 0;
  for (int64_t base = 0; base < tableRows; base += kScanThreads) {
    int32_t mine = base + t < tableRows ? counts[base + t] : 0;
    sums[t] = mine;
    blockBarrier();
    for (int step = 1; step < kScanThreads; step *= 2) {
      int32_t left = t >= step ? sums[t - step] : 0;
      blockBarrier();
      sums[t] += left;
      blockBarrier();
    }
    if (base + t < tableRows) {
      starts[base + t] = total + sums[t] - mine;
      counts[base + t] = 0;
    }
    total += sums[kScanThreads - 1];
    blockBarrier();
  }
  if (t == 0)
    starts[tableRows] = total;
}

/// slots: the i's of each table row side by side, in any order.
__global__ void place_kernel(int32_t *slots, int32_t *counts,
                             const int32_t *starts, Target target,
                             int64_t rows) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < rows;
       i += int64_t(gridDim.x) * blockDim.x)
    if (int64_t row = target(i); row >= 0)
      slots[starts[row] + atomicAddInt(&counts[row], 1)] =
          static_cast<int32_t>(i);
}

/// sorted: slots in ascending order within each table row. A slot's place is
/// the number of smaller ones.
__global__ void order_kernel(int32_t *sorted, const int32_t *slots,
                             const int32_t *starts, int64_t tableRows) {
  for (int64_t row = blockIdx.x; row < tableRows; row += gridDim.x) {
    int32_t begin = starts[row], end = starts[row + 1];
    for (int32_t a = begin + int32_t(threadIdx.x); a < end; a += int32_t(blockDim.x)) {
      int32_t mine = slots[a], place = begin;
      for (int32_t b = begin; b < end; ++b)
        place += slots[b] < mine;
      sorted[place] = mine;
    }
  }
}

/// table (tableRows, width) += the sorted rows of grad (rows, width).
template <typename T>
__global__ void add_sorted_kernel(float *table, const T *grad,
                                  const int32_t *sorted, const int32_t *starts,
                                  int64_t width, int64_t tableRows) {
  int64_t col = int64_t(blockIdx.y) * blockDim.x + threadIdx.x;
  if (col >= width)
    return;
  for (int64_t row = blockIdx.x; row < tableRows; row += gridDim.x) {
    int32_t begin = starts[row], end = starts[row + 1];
    if (begin == end)
      continue;
    float sum = table[row * width + col];
    for (int32_t a = begin; a < end; ++a)
      sum += float(grad[sorted[a] * width + col]);
    table[row * width + col] = sum;
  }
}

} // namespace

template <typename T>
void meshrt::gatherRows(Rank &rank, T *out, const T *table,
                        const int32_t *indices, int64_t rows, int64_t width,
                        int64_t first, int64_t tableRows) {
  if (rows * width > 0)
    launch(rank, {blocksFor(rows * width, 256), 256}, gather_rows_kernel<T>, out,
           table, indices, rows, width, first, tableRows);
}

template <typename T>
void meshrt::scatterAddRows(Rank &rank, float *table, const T *grad,
                            const int32_t *indices, int64_t rows, int64_t width,
                            int64_t first, int64_t tableRows,
                            int64_t batches) {
  Target target{indices, rows, first, tableRows};
  rows *= batches;
  tableRows *= batches;
  if (rows * width == 0 || tableRows == 0)
    return;
  size_t bytes = (2 * tableRows + 1 + 2 * rows) * sizeof(int32_t);
  auto *counts = static_cast<int32_t *>(rank.scratch(rank.stream(), bytes));
  int32_t *starts = counts + tableRows, *slots = starts + tableRows + 1;
  int32_t *sorted = slots + rows;
  CUDA_CHECK(cudaMemsetAsync(counts, 0, tableRows * sizeof(int32_t),
                             rank.stream()));
  launch(rank, {blocksFor(rows, 256), 256}, count_kernel, counts, target, rows);
  launch(rank, {1, kScanThreads}, scan_kernel, starts, counts, tableRows);
  launch(rank, {blocksFor(rows, 256), 256}, place_kernel, slots, counts,
         static_cast<const int32_t *>(starts), target, rows);
  launch(rank, {blocksFor(tableRows, 1), 128}, order_kernel, sorted,
         static_cast<const int32_t *>(slots),
         static_cast<const int32_t *>(starts), tableRows);
  dim3 grid(blocksFor(tableRows, 1), static_cast<unsigned>((width + 255) / 256));
  launch(rank, {grid, 256}, add_sorted_kernel<T>, table, grad,
         static_cast<const int32_t *>(sorted),
         static_cast<const int32_t *>(starts), width, tableRows);
}

#define INSTANTIATE(T)                                                         \
  template void meshrt::gatherRows<T>(Rank &, T *, const T *, const int32_t *, \
                                      int64_t, int64_t, int64_t, int64_t);     \
  template void meshrt::scatterAddRows<T>(Rank &, float *, const T *,          \
                                          const int32_t *, int64_t, int64_t,   \
                                          int64_t, int64_t, int64_t);
INSTANTIATE(float)
INSTANTIATE(bf16)
