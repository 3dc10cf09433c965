#include "meshrt/cpu/kernels.h"
#include "meshrt/math.h"

#include <algorithm>
#include <functional>
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
                            int64_t first, int64_t tableRows,
                            int64_t batches) {
  // Threads own columns of batches, so each sum has one writer and one order.
  int64_t columns = (width + 15) / 16;
  rank.parallelFor(batches * columns, [&](int64_t firstUnit, int64_t lastUnit) {
    for (int64_t unit = firstUnit; unit < lastUnit;) {
      int64_t batch = unit / columns, last = std::min(lastUnit, (batch + 1) * columns);
      int64_t begin = unit % columns * 16;
      int64_t end = std::min(width, (last - batch * columns) * 16);
      for (int64_t i = batch * rows; i < (batch + 1) * rows; ++i) {
        int64_t row = indices[i] - first;
        if (row < 0 || row >= tableRows)
          continue;
        float *target = table + (batch * tableRows + row) * width;
        const T *source = grad + i * width;
#pragma omp simd
        for (int64_t j = begin; j < end; ++j)
          target[j] += static_cast<float>(source[j]);
      }
      unit = last;
    }
  });
}

template <typename T>
void meshrt::topK(Rank &rank, const T *input, T *values, int32_t *indices,
                  int64_t outer, int64_t n, int64_t inner, int64_t k) {
  rank.parallelFor(outer * inner, [&](int64_t begin, int64_t end) {
    // A candidate is its value, then, for the lowest index of equal ones to
    // win, its index from the end.
    std::vector<uint64_t> candidates(n);
    for (int64_t r = begin; r < end; ++r) {
      const T *x = input + r / inner * n * inner + r % inner;
      int64_t out = r / inner * k * inner + r % inner;
      for (int64_t i = 0; i < n; ++i)
        candidates[i] = uint64_t(math::ordered(x[i * inner])) << 32 |
                        static_cast<uint32_t>(n - 1 - i);
      std::partial_sort(candidates.begin(), candidates.begin() + k,
                        candidates.end(), std::greater<>());
      for (int64_t pick = 0; pick < k; ++pick) {
        int64_t i = n - 1 - int64_t(candidates[pick] & 0xffffffffu);
        values[out + pick * inner] = x[i * inner];
        indices[out + pick * inner] = static_cast<int32_t>(i);
      }
    }
  });
}

/// A block's worth of neighbouring columns walk along the dim together.
template <typename T>
void meshrt::cumulativeSum(Rank &rank, const T *input, T *output, int64_t outer,
                           int64_t n, int64_t inner, bool exclusive,
                           bool reverse) {
  constexpr int64_t kBlock = 64;
  int64_t blocks = (inner + kBlock - 1) / kBlock;
  rank.parallelFor(outer * blocks, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      int64_t column = unit % blocks * kBlock;
      int64_t count = std::min(kBlock, inner - column);
      T sums[kBlock] = {};
      for (int64_t i = 0; i < n; ++i) {
        int64_t at = (unit / blocks * n + (reverse ? n - 1 - i : i)) * inner + column;
#pragma omp simd
        for (int64_t j = 0; j < count; ++j) {
          T value = input[at + j];
          output[at + j] = exclusive ? sums[j] : sums[j] + value;
          sums[j] += value;
        }
      }
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
                                     int64_t, int64_t);
template void meshrt::scatterAddRows(Rank &, float *, const bf16 *,
                                     const int32_t *, int64_t, int64_t, int64_t,
                                     int64_t, int64_t);
template void meshrt::topK(Rank &, const float *, float *, int32_t *, int64_t,
                           int64_t, int64_t, int64_t);
template void meshrt::topK(Rank &, const bf16 *, bf16 *, int32_t *, int64_t,
                           int64_t, int64_t, int64_t);
template void meshrt::topK(Rank &, const int32_t *, int32_t *, int32_t *,
                           int64_t, int64_t, int64_t, int64_t);
template void meshrt::cumulativeSum(Rank &, const float *, float *, int64_t,
                                    int64_t, int64_t, bool, bool);
template void meshrt::cumulativeSum(Rank &, const int32_t *, int32_t *, int64_t,
                                    int64_t, int64_t, bool, bool);

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
