//===- kernels.h - Gathers, scatters, sorts, the classifier, CUDA ---------===//
//
// Kernels that an emitted program calls rather than prints. All are
// deterministic; the contracts are those of cpu/kernels.h.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_KERNELS_H
#define MESHRT_CUDA_KERNELS_H

#include "meshrt/cuda/rank.h"

namespace meshrt {

/// out[i, :] = table[indices[i] - first, :] for i in [0, rows), or zero where
/// the index lies outside [first, first + tableRows). T: float, bf16.
template <typename T>
void gatherRows(Rank &rank, T *out, const T *table, const int32_t *indices,
                int64_t rows, int64_t width, int64_t first, int64_t tableRows);

/// table[b, indices[b, i] - first, :] += grad[b, i, :] for b in [0, batches),
/// i in [0, rows), skipping indices outside [first, first + tableRows).
/// Contributions to one row are added in order of i: the rows of `grad` are
/// sorted by index first. T: float, bf16.
template <typename T>
void scatterAddRows(Rank &rank, float *table, const T *grad,
                    const int32_t *indices, int64_t rows, int64_t width,
                    int64_t first, int64_t tableRows, int64_t batches = 1);

/// Cross entropy over whole rows and its gradient in one pass, in place:
///   loss[i]      = logsumexp(logits[i, :]) - logits[i, targets[i]]
///   logits[i, j] = (softmax(logits[i, :])[j] - [j == targets[i]]) * scale
/// with scale = (scale ? scale[i] : 1) * scaleAll.
template <typename T>
void classifier(Rank &rank, T *logits, const int32_t *targets, float *loss,
                int64_t rows, int64_t vocab, int64_t stride, const float *scale,
                float scaleAll);

/// The same for a vocabulary split over ranks; see cpu/kernels.h.
template <typename T>
void classifierMax(Rank &rank, const T *logits, float *rowMax, int64_t rows,
                   int64_t vocab, int64_t stride);
template <typename T>
void classifierSums(Rank &rank, const T *logits, const int32_t *targets,
                    const float *rowMax, float *sums, int64_t rows,
                    int64_t vocab, int64_t stride, int64_t first);
template <typename T>
void classifierGrad(Rank &rank, T *logits, const int32_t *targets,
                    const float *rowMax, const float *sums, float *loss,
                    int64_t rows, int64_t vocab, int64_t stride, int64_t first,
                    const float *scale, float scaleAll);

/// The k largest along the middle dim of input (outer, n, inner), in falling
/// order, and their indices; of equal ones the lowest index first. k passes over
/// the row: for small k. T: float, bf16, int32_t.
template <typename T>
void topK(Rank &rank, const T *input, T *values, int32_t *indices,
          int64_t outer, int64_t n, int64_t inner, int64_t k);

/// Running sums along the middle dim of (outer, n, inner), from its end if
/// `reverse`, of what comes before if `exclusive`; may be in place.
/// T: float, int32_t.
template <typename T>
void cumulativeSum(Rank &rank, const T *input, T *output, int64_t outer,
                   int64_t n, int64_t inner, bool exclusive, bool reverse);

} // namespace meshrt

#endif // MESHRT_CUDA_KERNELS_H
