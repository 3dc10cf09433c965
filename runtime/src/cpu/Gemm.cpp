//===- Gemm.cpp - Products through oneDNN, threads by our own pool --------===//
//
// oneDNN would start OpenMP threads of its own in every rank. Each worker of
// the rank's pool therefore calls it for a slice of C with OpenMP limited to
// the calling thread. On the shapes of GPT-2 124M, two threads of a Zen 5 EPYC
// reach 490 GFLOP/s this way, and 252 with Debian's OpenBLAS 0.3.21 (which has
// no AVX-512 kernels for that processor and takes Haswell's).
//
//===----------------------------------------------------------------------===//
#include "GemmSlices.h"
#include "SmallGemm.h"

#include <fmt/format.h>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

using namespace meshrt;

/// Limits OpenMP to the calling thread, whose own setting this is. The OpenMP
/// runtime is the one oneDNN was linked to; we do not choose it, so look it up.
void meshrt::useOneOpenMpThread() {
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

void meshrt::matmul(Rank &rank, const MatMul &shape, const float *a,
                    Strides as, const float *b, Strides bs, float *c,
                    Strides cs) {
  if (isTransposed(shape, cs))
    return matmul(rank, transposed(shape), b, transposed(bs), a, transposed(as),
                  c, transposed(cs));
  bool plain = needsPlainProduct(shape, as, bs, cs);
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
