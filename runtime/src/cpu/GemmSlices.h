//===- GemmSlices.h - How a product is shared among a rank's threads ------===//
#ifndef MESHRT_SRC_CPU_GEMMSLICES_H
#define MESHRT_SRC_CPU_GEMMSLICES_H

#include "meshrt/cpu/gemm.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace meshrt {

/// Limits OpenMP, which oneDNN uses, to the calling thread.
void useOneOpenMpThread();

/// Whether C is column-major; then its transpose is computed.
inline bool isTransposed(const MatMul &s, Strides cs) {
  return cs.col != 1 && s.n > 1 && (cs.row == 1 || s.m == 1);
}
inline MatMul transposed(MatMul s) {
  std::swap(s.m, s.n);
  return s;
}
inline Strides transposed(Strides s) {
  std::swap(s.row, s.col);
  return s;
}

inline bool isStrided(Strides s, int64_t rows, int64_t cols) {
  return s.col != 1 && s.row != 1 && rows > 1 && cols > 1;
}

/// The slice of C that one call of a worker computes.
struct Slice {
  int64_t mBegin, mEnd, nBegin, nEnd;
};

/// Cuts C into one slice per thread along the side whose operand is larger, so
/// that each thread reads (and packs) only its part of that operand. Slices
/// are multiples of 16 elements.
inline Slice sliceOf(const MatMul &s, int64_t slice, int64_t slices) {
  bool cutRows = s.m >= s.n;
  int64_t size = cutRows ? s.m : s.n;
  int64_t units = (size + 15) / 16;
  int64_t begin = std::min(size, units * slice / slices * 16);
  int64_t end = std::min(size, units * (slice + 1) / slices * 16);
  return cutRows ? Slice{begin, end, 0, s.n} : Slice{0, s.m, begin, end};
}

/// Calls product(batch, batch2, slice) for all of C, in parallel.
template <typename Product>
void forEachSlice(Rank &rank, const MatMul &s, const Product &product) {
  int64_t batches = s.batch * s.batch2;
  int64_t slices = batches >= rank.threads() ? 1 : rank.threads();
  rank.parallelForEach(batches * slices, [&](int64_t i) {
    int64_t batch = i / slices;
    Slice slice = sliceOf(s, i % slices, slices);
    if (slice.mBegin < slice.mEnd && slice.nBegin < slice.nEnd)
      product(batch / s.batch2, batch % s.batch2, slice);
  });
}

/// Any strides, any element type: the definition, for the rare operand that is
/// strided both ways and for f64.
template <typename In, typename Sum, typename Out>
void plainProduct(const MatMul &s, Slice slice, const In *a, Strides as,
                  const In *b, Strides bs, Out *c, Strides cs) {
  std::vector<Sum> row(slice.nEnd - slice.nBegin);
  for (int64_t i = slice.mBegin; i < slice.mEnd; ++i) {
    std::fill(row.begin(), row.end(), Sum(0));
    for (int64_t p = 0; p < s.k; ++p) {
      Sum x = static_cast<Sum>(a[i * as.row + p * as.col]);
      const In *y = b + p * bs.row + slice.nBegin * bs.col;
      for (size_t j = 0; j < row.size(); ++j)
        row[j] += x * static_cast<Sum>(y[j * bs.col]);
    }
    Out *out = c + i * cs.row + slice.nBegin * cs.col;
    for (size_t j = 0; j < row.size(); ++j) {
      Sum old = s.beta == 0 ? Sum(0)
                            : Sum(s.beta) * static_cast<Sum>(out[j * cs.col]);
      out[j * cs.col] = static_cast<Out>(Sum(s.alpha) * row[j] + old);
    }
  }
}

/// Whether no library call fits.
inline bool needsPlainProduct(const MatMul &s, Strides as, Strides bs,
                              Strides cs) {
  return isStrided(as, s.m, s.k) || isStrided(bs, s.k, s.n) ||
         (cs.col != 1 && s.n > 1) || s.k == 0;
}

} // namespace meshrt

#endif // MESHRT_SRC_CPU_GEMMSLICES_H
