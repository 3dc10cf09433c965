//===- kernels.h - Row gathers, scatters and the classifier, CPU ----------===//
//
// Kernels that an emitted program calls rather than prints. All are
// deterministic for a given thread count or better, as stated.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CPU_KERNELS_H
#define MESHRT_CPU_KERNELS_H

#include "meshrt/cpu/rank.h"

namespace meshrt {

/// The largest of values[0, count); -inf for none. Kept in lanes because
/// compilers do not vectorize a max reduction that must respect NaN (here a NaN
/// may get lost).
inline float maxOf(const float *values, int64_t count) {
  constexpr int64_t kLanes = 32;
  float lanes[kLanes];
  for (float &lane : lanes)
    lane = -__builtin_inff();
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
#pragma omp simd
    for (int64_t j = 0; j < kLanes; ++j)
      lanes[j] = values[i + j] > lanes[j] ? values[i + j] : lanes[j];
  float max = lanes[0];
  for (float lane : lanes)
    max = lane > max ? lane : max;
  for (; i < count; ++i)
    max = values[i] > max ? values[i] : max;
  return max;
}

/// out[i, :] = table[indices[i] - first, :] for i in [0, rows), or zero where
/// the index lies outside [first, first + tableRows): the part of a gather that
/// a rank holding those rows contributes. T: float, bf16.
template <typename T>
void gatherRows(Rank &rank, T *out, const T *table, const int32_t *indices,
                int64_t rows, int64_t width, int64_t first, int64_t tableRows);

/// table[b, indices[b, i] - first, :] += grad[b, i, :] for b in [0, batches),
/// i in [0, rows), skipping indices outside [first, first + tableRows).
/// Contributions to one row are added in order of i, whatever the number of
/// threads. T: float, bf16.
template <typename T>
void scatterAddRows(Rank &rank, float *table, const T *grad,
                    const int32_t *indices, int64_t rows, int64_t width,
                    int64_t first, int64_t tableRows, int64_t batches = 1);

/// The k largest along the middle dim of input (outer, n, inner), in falling
/// order, and their indices; of equal ones the lowest index first.
/// T: float, bf16, int32_t.
template <typename T>
void topK(Rank &rank, const T *input, T *values, int32_t *indices,
          int64_t outer, int64_t n, int64_t inner, int64_t k);

/// Running sums along the middle dim of (outer, n, inner), from its end if
/// `reverse`, of what comes before if `exclusive`; may be in place.
/// T: float, int32_t.
template <typename T>
void cumulativeSum(Rank &rank, const T *input, T *output, int64_t outer,
                   int64_t n, int64_t inner, bool exclusive, bool reverse);

/// Cross entropy over whole rows and its gradient in one pass, in place:
///   loss[i]      = logsumexp(logits[i, :]) - logits[i, targets[i]]
///   logits[i, j] = (softmax(logits[i, :])[j] - [j == targets[i]]) * scale[i]
/// for i in [0, rows), j in [0, vocab); rows lie `stride` elements apart.
/// `scale` may be null: then every row's is `scaleAll`.
void classifier(Rank &rank, float *logits, const int32_t *targets, float *loss,
                int64_t rows, int64_t vocab, int64_t stride, const float *scale,
                float scaleAll);

/// The same for a vocabulary split over ranks, in three local parts with an
/// all-reduce after each of the first two:
///   1. rowMax[i] = max over the local columns             (all-reduce max)
///   2. sums[2i] = sum exp(logits[i, j] - rowMax[i]), sums[2i + 1] = the
///      target's logit if it is local, else 0              (all-reduce sum)
///   3. loss and gradient, as above.
/// Local column j has global index first + j; `vocab` counts the local columns
/// that are not padding; part 3 writes zeros into columns [vocab, stride).
void classifierMax(Rank &rank, const float *logits, float *rowMax, int64_t rows,
                   int64_t vocab, int64_t stride);
void classifierSums(Rank &rank, const float *logits, const int32_t *targets,
                    const float *rowMax, float *sums, int64_t rows,
                    int64_t vocab, int64_t stride, int64_t first);
void classifierGrad(Rank &rank, float *logits, const int32_t *targets,
                    const float *rowMax, const float *sums, float *loss,
                    int64_t rows, int64_t vocab, int64_t stride, int64_t first,
                    const float *scale, float scaleAll);

/// Sum of squares of values[0, count), f64 in blocks of fixed size: the same
/// bits for any number of threads.
double sumSquares(Rank &rank, const float *values, int64_t count);

} // namespace meshrt

#endif // MESHRT_CPU_KERNELS_H
