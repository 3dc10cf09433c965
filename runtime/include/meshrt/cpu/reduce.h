//===- reduce.h - Reductions over a whole buffer, CPU ---------------------===//
//
//   float sum = sumBlocks<float>(rank, n, 4096, [=](int64_t begin, int64_t end) {
//     float part = 0;
//     for (int64_t i = begin; i < end; ++i)
//       part += x[i];
//     return part;
//   });
//
// [0, n) is cut into blocks of `block` indices; `part` reduces one of them, on
// any thread. The parts are combined in order, sums of floats in f64. So the
// result has the same bits for any number of threads. n == 0 gives the neutral
// element.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CPU_REDUCE_H
#define MESHRT_CPU_REDUCE_H

#include "meshrt/cpu/rank.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

namespace meshrt {

namespace detail {
/// The results of part(begin, end) for each block.
template <typename T, typename Part>
std::vector<T> reduceParts(Rank &rank, int64_t n, int64_t block,
                           const Part &part) {
  std::vector<T> parts((n + block - 1) / block);
  T *results = parts.data();
  rank.parallelFor(parts.size(), [=, &part](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      results[i] = part(i * block, std::min(n, (i + 1) * block));
  });
  return parts;
}
} // namespace detail

template <typename T, typename Part>
T sumBlocks(Rank &rank, int64_t n, int64_t block, const Part &part) {
  using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  Wide sum = 0;
  for (T value : detail::reduceParts<T>(rank, n, block, part))
    sum += static_cast<Wide>(value);
  return static_cast<T>(sum);
}

template <typename T, typename Part>
T productBlocks(Rank &rank, int64_t n, int64_t block, const Part &part) {
  using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  Wide product = 1;
  for (T value : detail::reduceParts<T>(rank, n, block, part))
    product *= static_cast<Wide>(value);
  return static_cast<T>(product);
}

template <typename T, typename Part>
T maxBlocks(Rank &rank, int64_t n, int64_t block, const Part &part) {
  T largest = std::numeric_limits<T>::has_infinity
                  ? -std::numeric_limits<T>::infinity()
                  : std::numeric_limits<T>::lowest();
  for (T value : detail::reduceParts<T>(rank, n, block, part))
    largest = std::max(largest, value);
  return largest;
}

template <typename T, typename Part>
T minBlocks(Rank &rank, int64_t n, int64_t block, const Part &part) {
  T smallest = std::numeric_limits<T>::has_infinity
                   ? std::numeric_limits<T>::infinity()
                   : std::numeric_limits<T>::max();
  for (T value : detail::reduceParts<T>(rank, n, block, part))
    smallest = std::min(smallest, value);
  return smallest;
}

} // namespace meshrt

#endif // MESHRT_CPU_REDUCE_H
