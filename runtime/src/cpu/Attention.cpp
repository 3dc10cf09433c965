//===- Attention.cpp - Blocked attention, forward and backward ------------===//
//
// Work is cut into tiles of kQueries x kKeys scores. A tile lives in the
// worker's scratch memory (kQueries * kKeys * 4 bytes = 64 KiB, in L2), its
// products are calls of sgemm on the calling thread. Forward runs parallel over
// (batch, head, query block); backward over (batch, key/value head), because
// all queries of a head add to the same dK and dV.
//
//===----------------------------------------------------------------------===//
#include "SmallGemm.h"
#include "meshrt/cpu/attention.h"
#include "meshrt/cpu/kernels.h"
#include "meshrt/math.h"

#include <algorithm>
#include <cmath>

using namespace meshrt;
using meshrt::detail::MaskRef;

namespace {

constexpr int64_t kQueries = 64;
constexpr int64_t kKeys = 256;
constexpr float kInfinity = __builtin_inff();

/// A matrix of f32 rows with contiguous elements.
struct Rows {
  float *data;
  int64_t stride;
  float *operator[](int64_t row) const { return data + row * stride; }
  Strides strides() const { return {stride, 1}; }
  Strides transposed() const { return {1, stride}; }
};

/// The rows of one head: in place for f32, a converted copy for bf16.
Rows loadRows(const float *source, int64_t stride, int64_t, int64_t, float *) {
  return {const_cast<float *>(source), stride};
}
Rows loadRows(const bf16 *source, int64_t stride, int64_t rows, int64_t width,
              float *copy) {
  for (int64_t i = 0; i < rows; ++i)
#pragma omp simd
    for (int64_t j = 0; j < width; ++j)
      copy[i * width + j] = source[i * stride + j];
  return {copy, width};
}
template <typename T> int64_t copySize(int64_t rows, int64_t width) {
  return std::is_same_v<T, float> ? 0 : (rows * width + 15) / 16 * 16;
}

/// Hands out parts of one worker's scratch memory.
class Scratch {
public:
  Scratch(Rank &rank, int64_t floats)
      : next_(static_cast<float *>(
            rank.scratch(Rank::worker(), (floats + 256) * sizeof(float)))) {}
  float *take(int64_t floats) {
    float *result = next_;
    next_ += (floats + 15) / 16 * 16;
    return result;
  }

private:
  float *next_;
};

/// One tile of scores [q0, q1) x [k0, k1), local indices.
struct Tile {
  int64_t q0, q1, k0, k1;
  int64_t rows() const { return q1 - q0; }
  int64_t cols() const { return k1 - k0; }
};

Visible classify(const Attend &s, const MaskRef &mask, Tile t, int64_t batch,
                 int64_t head) {
  return mask.block(mask.mask, s.firstQuery + t.q0, s.firstQuery + t.q1,
                    s.firstKey + t.k0, s.firstKey + t.k1, s.firstBatch + batch,
                    s.firstHead + head);
}

/// scores = scale * Q K^T, masked pairs -inf. q and k start at the tile.
void computeScores(const Attend &s, const MaskRef &mask, Visible visible,
                   Tile t, int64_t batch, int64_t head, Rows q, Rows k,
                   Rows scores) {
  sgemm(t.rows(), t.cols(), s.dim, s.scale, q.data, q.strides(), k.data,
        k.transposed(), 0, scores.data, scores.stride);
  if (visible == Visible::Some)
    mask.fill(mask.mask, scores.data, scores.stride, s.firstQuery + t.q0,
              s.firstQuery + t.q1, s.firstKey + t.k0, s.firstKey + t.k1,
              s.firstBatch + batch, s.firstHead + head);
}

template <typename T>
void forward(Rank &rank, const Attend &s, const T *q, const T *k, const T *v,
             T *o, float *lse, const MaskRef &mask) {
  int64_t blocks = (s.queries + kQueries - 1) / kQueries;
  int64_t group = s.heads / s.kvHeads;
  rank.parallelForEach(s.batch * s.heads * blocks, [&](int64_t item) {
    // The last blocks of a causal mask are the longest: they go first.
    int64_t b = item % (s.batch * s.heads) / s.heads, h = item % s.heads;
    int64_t block = blocks - 1 - item / (s.batch * s.heads);
    int64_t q0 = block * kQueries, q1 = std::min(s.queries, q0 + kQueries);
    int64_t rows = q1 - q0;

    Scratch scratch(rank, kQueries * (kKeys + s.valueDim + 2) +
                              copySize<T>(kQueries, s.dim) +
                              copySize<T>(kKeys, s.dim) +
                              copySize<T>(kKeys, s.valueDim));
    Rows scores{scratch.take(kQueries * kKeys), kKeys};
    Rows sum{scratch.take(kQueries * s.valueDim), s.valueDim};
    float *rowMax = scratch.take(kQueries), *rowSum = scratch.take(kQueries);
    float *qCopy = scratch.take(copySize<T>(kQueries, s.dim));
    float *kCopy = scratch.take(copySize<T>(kKeys, s.dim));
    float *vCopy = scratch.take(copySize<T>(kKeys, s.valueDim));

    const T *qHead = q + b * s.q.batch + h * s.q.head;
    const T *kHead = k + b * s.k.batch + h / group * s.k.head;
    const T *vHead = v + b * s.v.batch + h / group * s.v.head;
    Rows qRows = loadRows(qHead + q0 * s.q.row, s.q.row, rows, s.dim, qCopy);
    std::fill(rowMax, rowMax + rows, -kInfinity);
    std::fill(rowSum, rowSum + rows, 0.0f);
    std::fill(sum.data, sum.data + rows * s.valueDim, 0.0f);

    for (int64_t k0 = 0; k0 < s.keys; k0 += kKeys) {
      Tile t{q0, q1, k0, std::min(s.keys, k0 + kKeys)};
      // Narrow the tile to the keys that any of these queries sees.
      while (t.cols() > kQueries &&
             classify(s, mask, {q0, q1, t.k1 - kQueries, t.k1}, b, h) ==
                 Visible::None)
        t.k1 -= kQueries;
      Visible visible = classify(s, mask, t, b, h);
      if (visible == Visible::None)
        continue;
      Rows kRows = loadRows(kHead + t.k0 * s.k.row, s.k.row, t.cols(), s.dim, kCopy);
      Rows vRows = loadRows(vHead + t.k0 * s.v.row, s.v.row, t.cols(),
                            s.valueDim, vCopy);
      computeScores(s, mask, visible, t, b, h, qRows, kRows, scores);
      for (int64_t i = 0; i < rows; ++i) {
        float *row = scores[i];
        float max = std::max(rowMax[i], maxOf(row, t.cols()));
        // A row with nothing visible so far: any finite reference will do.
        float reference = max == -kInfinity ? 0.0f : max;
        float total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t j = 0; j < t.cols(); ++j) {
          float p = math::exp(row[j] - reference);
          row[j] = p;
          total += p;
        }
        float rescale = math::exp(rowMax[i] - reference);
        if (rescale != 1.0f) {
          float *acc = sum[i];
#pragma omp simd
          for (int64_t j = 0; j < s.valueDim; ++j)
            acc[j] *= rescale;
        }
        rowSum[i] = rowSum[i] * rescale + total;
        rowMax[i] = max;
      }
      sgemm(t.rows(), s.valueDim, t.cols(), 1, scores.data, scores.strides(),
            vRows.data, vRows.strides(), 1, sum.data, sum.stride);
    }

    for (int64_t i = 0; i < rows; ++i) {
      T *out = o + b * s.o.batch + h * s.o.head + (q0 + i) * s.o.row;
      float inverse = rowSum[i] > 0 ? 1.0f / rowSum[i] : 0.0f;
      const float *acc = sum[i];
#pragma omp simd
      for (int64_t j = 0; j < s.valueDim; ++j)
        out[j] = acc[j] * inverse;
      lse[b * s.lse.batch + h * s.lse.head + (q0 + i) * s.lse.row] =
          rowSum[i] > 0 ? std::log(rowSum[i]) + rowMax[i] : -kInfinity;
    }
  });
}

template <typename T>
void backward(Rank &rank, const Attend &s, const T *q, const T *k, const T *v,
              const T *o, const float *lse, const T *dO, T *dQ, T *dK, T *dV,
              const MaskRef &mask) {
  int64_t group = s.heads / s.kvHeads;
  rank.parallelForEach(s.batch * s.kvHeads, [&](int64_t item) {
    int64_t b = item / s.kvHeads, g = item % s.kvHeads;
    int64_t qSize = s.queries * s.dim, kSize = s.keys * s.dim;
    int64_t vSize = s.keys * s.valueDim;
    Scratch scratch(rank, 2 * kQueries * kKeys + s.queries + qSize + kSize +
                              vSize + copySize<T>(s.queries, s.dim) +
                              copySize<T>(s.keys, s.dim) +
                              copySize<T>(s.keys, s.valueDim) +
                              copySize<T>(s.queries, s.valueDim));
    Rows p{scratch.take(kQueries * kKeys), kKeys};
    Rows dP{scratch.take(kQueries * kKeys), kKeys};
    float *delta = scratch.take(s.queries);
    Rows dQSum{scratch.take(qSize), s.dim};
    Rows dKSum{scratch.take(kSize), s.dim};
    Rows dVSum{scratch.take(vSize), s.valueDim};
    float *qCopy = scratch.take(copySize<T>(s.queries, s.dim));
    float *kCopy = scratch.take(copySize<T>(s.keys, s.dim));
    float *vCopy = scratch.take(copySize<T>(s.keys, s.valueDim));
    float *dOCopy = scratch.take(copySize<T>(s.queries, s.valueDim));

    Rows kRows = loadRows(k + b * s.k.batch + g * s.k.head, s.k.row, s.keys,
                          s.dim, kCopy);
    Rows vRows = loadRows(v + b * s.v.batch + g * s.v.head, s.v.row, s.keys,
                          s.valueDim, vCopy);
    std::fill(dKSum.data, dKSum.data + kSize, 0.0f);
    std::fill(dVSum.data, dVSum.data + vSize, 0.0f);

    for (int64_t h = g * group; h < (g + 1) * group; ++h) {
      const T *oHead = o + b * s.o.batch + h * s.o.head;
      const float *lseHead = lse + b * s.lse.batch + h * s.lse.head;
      Rows qRows = loadRows(q + b * s.q.batch + h * s.q.head, s.q.row,
                            s.queries, s.dim, qCopy);
      Rows dORows = loadRows(dO + b * s.o.batch + h * s.o.head, s.o.row,
                             s.queries, s.valueDim, dOCopy);
      std::fill(dQSum.data, dQSum.data + qSize, 0.0f);
      // delta[i] = sum_e o[i, e] dO[i, e] = sum_j p[i, j] dP[i, j]
      for (int64_t i = 0; i < s.queries; ++i) {
        const T *oRow = oHead + i * s.o.row;
        const float *dORow = dORows[i];
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < s.valueDim; ++j)
          sum += static_cast<float>(oRow[j]) * dORow[j];
        delta[i] = sum;
      }

      for (int64_t q0 = 0; q0 < s.queries; q0 += kQueries)
        for (int64_t k0 = 0; k0 < s.keys; k0 += kKeys) {
          Tile t{q0, std::min(s.queries, q0 + kQueries), k0,
                 std::min(s.keys, k0 + kKeys)};
          while (t.cols() > kQueries &&
                 classify(s, mask, {q0, t.q1, t.k1 - kQueries, t.k1}, b, h) ==
                     Visible::None)
            t.k1 -= kQueries;
          Visible visible = classify(s, mask, t, b, h);
          if (visible == Visible::None)
            continue;
          computeScores(s, mask, visible, t, b, h, {qRows[q0], qRows.stride},
                        {kRows[k0], kRows.stride}, p);
          // dP = dO V^T
          sgemm(t.rows(), t.cols(), s.valueDim, 1, dORows[q0],
                dORows.strides(), vRows[k0], vRows.transposed(), 0, dP.data,
                dP.stride);
          for (int64_t i = 0; i < t.rows(); ++i) {
            float *pRow = p[i], *dPRow = dP[i];
            float reference = lseHead[(q0 + i) * s.lse.row];
            // A fully masked row: all scores are -inf, p must be 0.
            reference = reference == -kInfinity ? 0.0f : reference;
            float d = delta[q0 + i];
#pragma omp simd
            for (int64_t j = 0; j < t.cols(); ++j) {
              float weight = math::exp(pRow[j] - reference);
              pRow[j] = weight;
              dPRow[j] = weight * (dPRow[j] - d);
            }
          }
          // dV += P^T dO; dQ += scale dS K; dK += scale dS^T Q
          sgemm(t.cols(), s.valueDim, t.rows(), 1, p.data, p.transposed(),
                dORows[q0], dORows.strides(), 1, dVSum[k0], dVSum.stride);
          sgemm(t.rows(), s.dim, t.cols(), s.scale, dP.data, dP.strides(),
                kRows[k0], kRows.strides(), 1, dQSum[q0], dQSum.stride);
          sgemm(t.cols(), s.dim, t.rows(), s.scale, dP.data, dP.transposed(),
                qRows[q0], qRows.strides(), 1, dKSum[k0], dKSum.stride);
        }
      T *dQHead = dQ + b * s.q.batch + h * s.q.head;
      for (int64_t i = 0; i < s.queries; ++i)
        for (int64_t j = 0; j < s.dim; ++j)
          dQHead[i * s.q.row + j] = dQSum[i][j];
    }

    T *dKHead = dK + b * s.k.batch + g * s.k.head;
    T *dVHead = dV + b * s.v.batch + g * s.v.head;
    for (int64_t i = 0; i < s.keys; ++i) {
      for (int64_t j = 0; j < s.dim; ++j)
        dKHead[i * s.k.row + j] = dKSum[i][j];
      for (int64_t j = 0; j < s.valueDim; ++j)
        dVHead[i * s.v.row + j] = dVSum[i][j];
    }
  });
}

} // namespace

void meshrt::detail::attendForward(Rank &rank, const Attend &s, const float *q,
                                   const float *k, const float *v, float *o,
                                   float *lse, const MaskRef &mask) {
  forward(rank, s, q, k, v, o, lse, mask);
}
void meshrt::detail::attendForward(Rank &rank, const Attend &s, const bf16 *q,
                                   const bf16 *k, const bf16 *v, bf16 *o,
                                   float *lse, const MaskRef &mask) {
  forward(rank, s, q, k, v, o, lse, mask);
}
void meshrt::detail::attendBackward(Rank &rank, const Attend &s, const float *q,
                                    const float *k, const float *v,
                                    const float *o, const float *lse,
                                    const float *dO, float *dQ, float *dK,
                                    float *dV, const MaskRef &mask) {
  backward(rank, s, q, k, v, o, lse, dO, dQ, dK, dV, mask);
}
void meshrt::detail::attendBackward(Rank &rank, const Attend &s, const bf16 *q,
                                    const bf16 *k, const bf16 *v, const bf16 *o,
                                    const float *lse, const bf16 *dO, bf16 *dQ,
                                    bf16 *dK, bf16 *dV, const MaskRef &mask) {
  backward(rank, s, q, k, v, o, lse, dO, dQ, dK, dV, mask);
}
