#include "meshrt/cpu/kernels.h"
#include "meshrt/math.h"

#include <algorithm>
#include <limits>
#include <vector>

using namespace meshrt;

template <typename T>
void meshrt::gatherRows(Rank &rank, T *out, const T *table,
                        const int32_t *indices, int64_t rows, int64_t width,
                        int64_t first, int64_t tableRows) {
  rank.parallelFor(rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = indices[i] - first;
      if (row >= 0 && row < tableRows)
        std::memcpy(out + i * width, table + row * width, width * sizeof(T));
      else
        std::memset(static_cast<void *>(out + i * width), 0, width * sizeof(T));
    }
  });
}

template <typename T>
void meshrt::scatterAddRows(Rank &rank, float *table, const T *grad,
                            const int32_t *indices, int64_t rows, int64_t width,
                            int64_t first, int64_t tableRows) {
  // Threads own columns, so each sum has one writer and one order.
  rank.parallelFor((width + 15) / 16, [&](int64_t firstUnit, int64_t lastUnit) {
    int64_t begin = firstUnit * 16, end = std::min(width, lastUnit * 16);
    for (int64_t i = 0; i < rows; ++i) {
      int64_t row = indices[i] - first;
      if (row < 0 || row >= tableRows)
        continue;
      float *target = table + row * width;
      const T *source = grad + i * width;
#pragma omp simd
      for (int64_t j = begin; j < end; ++j)
        target[j] += static_cast<float>(source[j]);
    }
  });
}

template void meshrt::gatherRows(Rank &, float *, const float *,
                                 const int32_t *, int64_t, int64_t, int64_t,
                                 int64_t);
template void meshrt::gatherRows(Rank &, bf16 *, const bf16 *, const int32_t *,
                                 int64_t, int64_t, int64_t, int64_t);
template void meshrt::scatterAddRows(Rank &, float *, const float *,
                                     const int32_t *, int64_t, int64_t, int64_t,
                                     int64_t);
template void meshrt::scatterAddRows(Rank &, float *, const bf16 *,
                                     const int32_t *, int64_t, int64_t, int64_t,
                                     int64_t);

/// row[j] = exp(row[j] - max); returns their sum.
static float exponentials(float *row, int64_t count, float max) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < count; ++j) {
    float e = math::exp(row[j] - max);
    row[j] = e;
    sum += e;
  }
  return sum;
}

void meshrt::classifier(Rank &rank, float *logits, const int32_t *targets,
                        float *loss, int64_t rows, int64_t vocab,
                        int64_t stride, const float *scale, float scaleAll) {
  rank.parallelFor(rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float *row = logits + i * stride;
      float target = row[targets[i]];
      float max = maxOf(row, vocab);
      float sum = exponentials(row, vocab, max);
      loss[i] = std::log(sum) + max - target;
      float weight = scale ? scale[i] : scaleAll;
      float factor = weight / sum;
#pragma omp simd
      for (int64_t j = 0; j < vocab; ++j)
        row[j] *= factor;
      row[targets[i]] -= weight;
      std::fill(row + vocab, row + stride, 0.0f);
    }
  });
}

void meshrt::classifierMax(Rank &rank, const float *logits, float *rowMax,
                           int64_t rows, int64_t vocab, int64_t stride) {
  rank.parallelFor(rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      rowMax[i] = maxOf(logits + i * stride, vocab);
  });
}

void meshrt::classifierSums(Rank &rank, const float *logits,
                            const int32_t *targets, const float *rowMax,
                            float *sums, int64_t rows, int64_t vocab,
                            int64_t stride, int64_t first) {
  rank.parallelFor(rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *row = logits + i * stride;
      float max = rowMax[i], sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < vocab; ++j)
        sum += math::exp(row[j] - max);
      int64_t target = targets[i] - first;
      sums[2 * i] = sum;
      sums[2 * i + 1] = target >= 0 && target < vocab ? row[target] : 0.0f;
    }
  });
}

void meshrt::classifierGrad(Rank &rank, float *logits, const int32_t *targets,
                            const float *rowMax, const float *sums, float *loss,
                            int64_t rows, int64_t vocab, int64_t stride,
                            int64_t first, const float *scale, float scaleAll) {
  rank.parallelFor(rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float *row = logits + i * stride;
      float max = rowMax[i];
      loss[i] = std::log(sums[2 * i]) + max - sums[2 * i + 1];
      float weight = scale ? scale[i] : scaleAll;
      float factor = weight / sums[2 * i];
#pragma omp simd
      for (int64_t j = 0; j < vocab; ++j)
        row[j] = math::exp(row[j] - max) * factor;
      int64_t target = targets[i] - first;
      if (target >= 0 && target < vocab)
        row[target] -= weight;
      std::fill(row + vocab, row + stride, 0.0f);
    }
  });
}

double meshrt::sumSquares(Rank &rank, const float *values, int64_t count) {
  constexpr int64_t kBlock = 1 << 16;
  std::vector<double> partial((count + kBlock - 1) / kBlock);
  rank.parallelFor(partial.size(), [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const float *x = values + block * kBlock;
      int64_t n = std::min(kBlock, count - block * kBlock);
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < n; ++i)
        sum += static_cast<double>(x[i]) * x[i];
      partial[block] = sum;
    }
  });
  double sum = 0;
  for (double part : partial)
    sum += part;
  return sum;
}
