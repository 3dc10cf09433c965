//===- SmallGemm.h - A product on the calling thread alone ----------------===//
#ifndef MESHRT_SRC_CPU_SMALLGEMM_H
#define MESHRT_SRC_CPU_SMALLGEMM_H

#include "meshrt/cpu/gemm.h"

namespace meshrt {

/// C = alpha * A * B + beta * C on this thread, f32. `c` is row-major; of a's
/// and b's two strides one is 1.
void sgemm(int64_t m, int64_t n, int64_t k, float alpha, const float *a,
           Strides as, const float *b, Strides bs, float beta, float *c,
           int64_t cRow);

} // namespace meshrt

#endif // MESHRT_SRC_CPU_SMALLGEMM_H
