//===- Gemm.cpp - Products through oneDNN, threads by our own pool --------===//
//
// oneDNN would start OpenMP threads of its own in every rank. Each worker of
// the rank's pool therefore calls it for a slice of C with OpenMP limited to
// the calling thread. On AVX-512 oneDNN's sgemm runs at twice the speed of
// Debian's OpenBLAS (benchmarks/README.md).
//
//===----------------------------------------------------------------------===//
#include "SmallGemm.h"

#include <algorithm>
#include <fmt/format.h>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <vector>

using namespace meshrt;

/// Limits OpenMP to the calling thread, whose own setting this is. The OpenMP
/// runtime is the one oneDNN was linked to; we do not choose it, so look it up.
static void useOneOpenMpThread() {
  static auto *setThreads = reinterpret_cast<void (*)(int)>(
      dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  static thread_local bool done = false;
  if (!done && setThreads)
    setThreads(1);
  done = true;
}

void meshrt::sgemm(int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                   Strides as, const float *b, Strides bs, float beta, float *c,
                   int64_t cRow) {
  useOneOpenMpThread();
  // A matrix of one row or one column may come with any stride there.
  bool transA = !(as.col == 1 || k == 1), transB = !(bs.col == 1 || n == 1);
  int64_t lda = transA ? std::max(as.col, m) : std::max(as.row, k);
  int64_t ldb = transB ? std::max(bs.col, k) : std::max(bs.row, n);
  dnnl_status_t status =
      dnnl_sgemm(transA ? 'T' : 'N', transB ? 'T' : 'N', m, n, k, alpha, a, lda,
                 b, ldb, beta, c, std::max(cRow, n));
  if (status != dnnl_success)
    throw Error(fmt::format("oneDNN sgemm of {}x{}x{} failed with status {}", m,
                            n, k, static_cast<int>(status)),
                Error::kInternal);
}

namespace {

bool isStrided(Strides s, int64_t rows, int64_t cols) {
  return s.col != 1 && s.row != 1 && rows > 1 && cols > 1;
}

/// The slice of C that one call of a worker computes.
struct Slice {
  int64_t mBegin, mEnd, nBegin, nEnd;
};

/// Cuts C into one slice per thread along the side whose operand is larger, so
/// that each thread reads (and packs) only its part of that operand. Slices
/// are multiples of 16 elements.
Slice sliceOf(const MatMul &s, int64_t slice, int64_t slices) {
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

} // namespace

void meshrt::matmul(Rank &rank, const MatMul &shape, const float *a,
                    Strides as, const float *b, Strides bs, float *c,
                    Strides cs) {
  if (cs.col != 1 && shape.n > 1 && (cs.row == 1 || shape.m == 1)) {
    // C is column-major: compute its transpose.
    MatMul t = shape;
    std::swap(t.m, t.n);
    auto transposed = [](Strides s) {
      std::swap(s.row, s.col);
      return s;
    };
    return matmul(rank, t, b, transposed(bs), a, transposed(as), c,
                  transposed(cs));
  }
  bool plain = isStrided(as, shape.m, shape.k) ||
               isStrided(bs, shape.k, shape.n) ||
               (cs.col != 1 && shape.n > 1) || shape.k == 0;
  forEachSlice(rank, shape, [&](int64_t i, int64_t j, Slice s) {
    const float *x = a + i * as.batch + j * as.batch2;
    const float *y = b + i * bs.batch + j * bs.batch2;
    float *z = c + i * cs.batch + j * cs.batch2;
    if (plain)
      return plainProduct<float, float>(shape, s, x, as, y, bs, z, cs);
    sgemm(s.mEnd - s.mBegin, s.nEnd - s.nBegin, shape.k, shape.alpha,
          x + s.mBegin * as.row, as, y + s.nBegin * bs.col, bs, shape.beta,
          z + s.mBegin * cs.row + s.nBegin, cs.row);
  });
}

void meshrt::matmul(Rank &rank, const MatMul &shape, const double *a,
                    Strides as, const double *b, Strides bs, double *c,
                    Strides cs) {
  forEachSlice(rank, shape, [&](int64_t i, int64_t j, Slice s) {
    plainProduct<double, double>(shape, s, a + i * as.batch + j * as.batch2, as,
                                 b + i * bs.batch + j * bs.batch2, bs,
                                 c + i * cs.batch + j * cs.batch2, cs);
  });
}
