//===- gemm.h - Batched strided matrix products, CPU ----------------------===//
//
//   C[m, n] = alpha * A[m, k] * B[k, n] + beta * C[m, n]      for each batch
//
// A matrix is given by the strides (in elements) of its row and its column
// index, one of which is 1: {.row = k, .col = 1} is row-major, {.row = 1,
// .col = m} its transpose in place. Sums are f32 for every input type. The
// result has the same bits on every run and for any number of threads and ranks
// (each element is summed by one thread, over k in a fixed blocking).
//
//   // q[batch=4, seq=256, heads=12, head=64] = dot(x, wq over embed)
//   matmul(rank, {.m = 1024, .n = 768, .k = 768}, x, {768, 1}, wq, {768, 1},
//          q, {768, 1});
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CPU_GEMM_H
#define MESHRT_CPU_GEMM_H

#include "meshrt/cpu/rank.h"
#include "meshrt/shapes.h"

namespace meshrt {

/// C must have col == 1 or row == 1. Shapes with m, n or k zero are allowed
/// (k == 0 scales C by beta).
void matmul(Rank &rank, const MatMul &shape, const float *a, Strides as,
            const float *b, Strides bs, float *c, Strides cs);

/// bf16 inputs, products summed in f32.
void matmul(Rank &rank, const MatMul &shape, const bf16 *a, Strides as,
            const bf16 *b, Strides bs, float *c, Strides cs);

/// bf16 inputs, summed in f32, rounded once on the way out (beta must be 0).
void matmul(Rank &rank, const MatMul &shape, const bf16 *a, Strides as,
            const bf16 *b, Strides bs, bf16 *c, Strides cs);

/// f64, for `f64` values; a plain blocked loop.
void matmul(Rank &rank, const MatMul &shape, const double *a, Strides as,
            const double *b, Strides bs, double *c, Strides cs);

} // namespace meshrt

#endif // MESHRT_CPU_GEMM_H
