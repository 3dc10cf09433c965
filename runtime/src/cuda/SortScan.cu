//===- SortScan.cu - The largest along a dim, running sums ----------------===//
#include "meshrt/cuda/kernels.h"
#include "meshrt/cuda/teams.h"
#include "meshrt/math.h"

using namespace meshrt;

namespace {

/// values, indices (outer, k, inner) from input (outer, n, inner): a block picks
/// one largest element after the other. A candidate is its value, then, for the
/// lowest index of equal ones to win, its index from the end.
template <typename T>
__global__ void top_k_kernel(const T *input, T *values, int32_t *indices,
                             int64_t outer, int64_t n, int64_t inner,
                             int64_t k) {
  Row<256> team;
  for (int64_t r = team.first(); r < outer * inner; r += team.step()) {
    const T *x = input + r / inner * n * inner + r % inner;
    int64_t out = r / inner * k * inner + r % inner;
    unsigned long long last = ~0ull;
    for (int64_t pick = 0; pick < k; ++pick) {
      unsigned long long best = 0;
      team.each(n, [&](int64_t i) {
        unsigned long long candidate =
            (static_cast<unsigned long long>(math::ordered(x[i * inner])) << 32) |
            static_cast<uint32_t>(n - 1 - i);
        if (candidate < last && candidate > best)
          best = candidate;
      });
      best = team.max(best);
      if (team.leads()) {
        int64_t i = n - 1 - static_cast<int64_t>(best & 0xffffffffu);
        values[out + pick * inner] = x[i * inner];
        indices[out + pick * inner] = static_cast<int32_t>(i);
      }
      last = best;
    }
  }
}

/// output (outer, n, inner): running sums of input along n, a thread each.
template <typename T>
__global__ void cumulative_sum_kernel(const T *input, T *output, int64_t outer,
                                      int64_t n, int64_t inner, bool exclusive,
                                      bool reverse) {
  for (int64_t r = gridThread(); r < outer * inner; r += gridThreads()) {
    int64_t base = r / inner * n * inner + r % inner;
    T sum = T(0);
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = base + (reverse ? n - 1 - i : i) * inner;
      T value = input[at];
      output[at] = exclusive ? sum : sum + value;
      sum = sum + value;
    }
  }
}

} // namespace

template <typename T>
void meshrt::topK(Rank &rank, const T *input, T *values, int32_t *indices,
                  int64_t outer, int64_t n, int64_t inner, int64_t k) {
  if (outer * inner * k > 0)
    launch(rank, rowShape<256>(outer * inner), top_k_kernel<T>, input, values,
           indices, outer, n, inner, k);
}

template <typename T>
void meshrt::cumulativeSum(Rank &rank, const T *input, T *output, int64_t outer,
                           int64_t n, int64_t inner, bool exclusive,
                           bool reverse) {
  if (outer * inner * n > 0)
    launch(rank, mapShape(outer * inner), cumulative_sum_kernel<T>, input,
           output, outer, n, inner, exclusive, reverse);
}

template void meshrt::topK<float>(Rank &, const float *, float *, int32_t *,
                                  int64_t, int64_t, int64_t, int64_t);
template void meshrt::topK<bf16>(Rank &, const bf16 *, bf16 *, int32_t *,
                                 int64_t, int64_t, int64_t, int64_t);
template void meshrt::topK<int32_t>(Rank &, const int32_t *, int32_t *,
                                    int32_t *, int64_t, int64_t, int64_t,
                                    int64_t);
template void meshrt::cumulativeSum<float>(Rank &, const float *, float *,
                                           int64_t, int64_t, int64_t, bool,
                                           bool);
template void meshrt::cumulativeSum<int32_t>(Rank &, const int32_t *, int32_t *,
                                             int64_t, int64_t, int64_t, bool,
                                             bool);
