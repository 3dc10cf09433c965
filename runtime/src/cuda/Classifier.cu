//===- Classifier.cu - Cross entropy and its gradient, in place -----------===//
#include "meshrt/cuda/kernels.h"
#include "meshrt/cuda/teams.h"
#include "meshrt/math.h"

using namespace meshrt;

namespace {

/// A vocabulary is long: a block works on one row.
constexpr int kTeam = 512;

/// logits (rows, stride) -> their gradient; loss (rows). The first pass keeps a
/// running maximum per thread, so the row is read twice, not three times.
template <typename T>
__global__ void classifier_kernel(T *logits, const int32_t *targets,
                                  float *loss, int64_t rows, int64_t vocab,
                                  int64_t stride, const float *scale,
                                  float scaleAll) {
  Row<kTeam> row;
  for (int64_t r = row.first(); r < rows; r += row.step()) {
    T *x = logits + r * stride;
    float top = -INFINITY, sum = 0;
    row.each(vocab, [&](int64_t j) {
      float value = x[j];
      float higher = value > top ? value : top;
      if (higher > -INFINITY)
        sum = sum * math::exp(top - higher) + math::exp(value - higher);
      top = higher;
    });
    float rowTop = row.combine(top, Max());
    sum = row.sum(top > -INFINITY ? sum * math::exp(top - rowTop) : 0.0f);
    int64_t target = targets[r];
    float targetLogit = x[target];
    row.barrier(); // everyone has read it before it is overwritten
    if (row.thread() == 0)
      loss[r] = math::log(sum) + rowTop - targetLogit;
    float inverse = 1.0f / sum, weight = scale ? scale[r] * scaleAll : scaleAll;
    row.each(vocab, [&](int64_t j) {
      float p = math::exp(float(x[j]) - rowTop) * inverse;
      x[j] = T((p - (j == target ? 1.0f : 0.0f)) * weight);
    });
  }
}

/// rowMax (rows) = max over the local columns.
template <typename T>
__global__ void classifier_max_kernel(const T *logits, float *rowMax,
                                      int64_t rows, int64_t vocab,
                                      int64_t stride) {
  Row<kTeam> row;
  for (int64_t r = row.first(); r < rows; r += row.step()) {
    const T *x = logits + r * stride;
    float top = row.max(vocab, [&](int64_t j) { return float(x[j]); });
    if (row.thread() == 0)
      rowMax[r] = top;
  }
}

/// sums (rows, 2) = sum of exp(x - rowMax), and the target's logit if local.
template <typename T>
__global__ void classifier_sums_kernel(const T *logits, const int32_t *targets,
                                       const float *rowMax, float *sums,
                                       int64_t rows, int64_t vocab,
                                       int64_t stride, int64_t first) {
  Row<kTeam> row;
  for (int64_t r = row.first(); r < rows; r += row.step()) {
    const T *x = logits + r * stride;
    float top = rowMax[r];
    float sum =
        row.sum(vocab, [&](int64_t j) { return math::exp(float(x[j]) - top); });
    if (row.thread() == 0) {
      int64_t target = targets[r] - first;
      sums[2 * r] = sum;
      sums[2 * r + 1] = target >= 0 && target < vocab ? float(x[target]) : 0.0f;
    }
  }
}

/// The gradient from all ranks' sums; zero in the padding [vocab, stride).
template <typename T>
__global__ void classifier_grad_kernel(T *logits, const int32_t *targets,
                                       const float *rowMax, const float *sums,
                                       float *loss, int64_t rows, int64_t vocab,
                                       int64_t stride, int64_t first,
                                       const float *scale, float scaleAll) {
  Row<kTeam> row;
  for (int64_t r = row.first(); r < rows; r += row.step()) {
    T *x = logits + r * stride;
    float top = rowMax[r], sum = sums[2 * r];
    int64_t target = targets[r] - first;
    if (row.thread() == 0)
      loss[r] = math::log(sum) + top - sums[2 * r + 1];
    float inverse = 1.0f / sum, weight = scale ? scale[r] * scaleAll : scaleAll;
    row.each(stride, [&](int64_t j) {
      if (j >= vocab) {
        x[j] = T(0.0f);
        return;
      }
      float p = math::exp(float(x[j]) - top) * inverse;
      x[j] = T((p - (j == target ? 1.0f : 0.0f)) * weight);
    });
  }
}

} // namespace

template <typename T>
void meshrt::classifier(Rank &rank, T *logits, const int32_t *targets,
                        float *loss, int64_t rows, int64_t vocab,
                        int64_t stride, const float *scale, float scaleAll) {
  if (rows > 0)
    launch(rank, rowShape<kTeam>(rows), classifier_kernel<T>, logits, targets,
           loss, rows, vocab, stride, scale, scaleAll);
}

template <typename T>
void meshrt::classifierMax(Rank &rank, const T *logits, float *rowMax,
                           int64_t rows, int64_t vocab, int64_t stride) {
  if (rows > 0)
    launch(rank, rowShape<kTeam>(rows), classifier_max_kernel<T>, logits, rowMax,
           rows, vocab, stride);
}

template <typename T>
void meshrt::classifierSums(Rank &rank, const T *logits, const int32_t *targets,
                            const float *rowMax, float *sums, int64_t rows,
                            int64_t vocab, int64_t stride, int64_t first) {
  if (rows > 0)
    launch(rank, rowShape<kTeam>(rows), classifier_sums_kernel<T>, logits,
           targets, rowMax, sums, rows, vocab, stride, first);
}

template <typename T>
void meshrt::classifierGrad(Rank &rank, T *logits, const int32_t *targets,
                            const float *rowMax, const float *sums, float *loss,
                            int64_t rows, int64_t vocab, int64_t stride,
                            int64_t first, const float *scale, float scaleAll) {
  if (rows > 0)
    launch(rank, rowShape<kTeam>(rows), classifier_grad_kernel<T>, logits,
           targets, rowMax, sums, loss, rows, vocab, stride, first, scale,
           scaleAll);
}

#define INSTANTIATE(T)                                                         \
  template void meshrt::classifier<T>(Rank &, T *, const int32_t *, float *,   \
                                      int64_t, int64_t, int64_t,               \
                                      const float *, float);                   \
  template void meshrt::classifierMax<T>(Rank &, const T *, float *, int64_t,  \
                                         int64_t, int64_t);                    \
  template void meshrt::classifierSums<T>(Rank &, const T *, const int32_t *,  \
                                          const float *, float *, int64_t,     \
                                          int64_t, int64_t, int64_t);          \
  template void meshrt::classifierGrad<T>(                                     \
      Rank &, T *, const int32_t *, const float *, const float *, float *,     \
      int64_t, int64_t, int64_t, int64_t, const float *, float);
INSTANTIATE(float)
INSTANTIATE(bf16)
