//===- gemm.h - Batched strided matrix products, CUDA ---------------------===//
//
//   C[m, n] = alpha * A[m, k] * B[k, n] + beta * C[m, n]      for each batch
//
// by cuBLASLt. A matrix is given by the strides (in elements) of its row and
// its column index, one of which is 1: {.row = k, .col = 1} is row-major,
// {.row = 1, .col = m} its transpose in place. Sums are f32 for f32 and bf16
// inputs; f32 inputs are not rounded to TF32 unless the run allows it.
//
// Algorithms come from cuBLASLt's heuristics, asked once per shape, strides and
// alignment, under a workspace of fixed size; so a program's products are the
// same from step to step.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_GEMM_H
#define MESHRT_CUDA_GEMM_H

#include "meshrt/cuda/rank.h"
#include "meshrt/shapes.h"

namespace meshrt {

/// What happens to the product before it is written. `bias` has n entries of
/// C's type. Gelu is the tanh form. `aux` (of C's type and strides) receives
/// (Gelu*Aux) or gives (GeluGrad) the input of the gelu.
struct Epilogue {
  enum Kind : uint8_t { None, Bias, Gelu, GeluBias, GeluAux, GeluAuxBias, GeluGrad };
  Kind kind = None;
  const void *bias = nullptr;
  void *aux = nullptr;
};

/// C must have col == 1 or row == 1. Shapes with m, n or k zero are allowed
/// (k == 0 scales C by beta). Epilogues want C with col == 1.
void matmul(Rank &rank, const MatMul &shape, const float *a, Strides as,
            const float *b, Strides bs, float *c, Strides cs,
            const Epilogue &epilogue = {});

/// bf16 inputs, products summed in f32.
void matmul(Rank &rank, const MatMul &shape, const bf16 *a, Strides as,
            const bf16 *b, Strides bs, float *c, Strides cs,
            const Epilogue &epilogue = {});

/// bf16 inputs, summed in f32, rounded once on the way out.
void matmul(Rank &rank, const MatMul &shape, const bf16 *a, Strides as,
            const bf16 *b, Strides bs, bf16 *c, Strides cs,
            const Epilogue &epilogue = {});

void matmul(Rank &rank, const MatMul &shape, const double *a, Strides as,
            const double *b, Strides bs, double *c, Strides cs,
            const Epilogue &epilogue = {});

} // namespace meshrt

#endif // MESHRT_CUDA_GEMM_H
