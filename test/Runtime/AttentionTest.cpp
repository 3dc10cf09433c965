// Fused attention against its definition in f64, gradients by the chain rule
// written out.
#include "RunRanks.h"

#include <gtest/gtest.h>

using namespace meshrt;
using namespace meshrt::test;

namespace {

using Predicate = std::function<bool(int64_t, int64_t, int64_t, int64_t)>;

struct Result {
  std::vector<double> o, lse, dQ, dK, dV;
};

double at(const std::vector<float> &x, HeadStrides s, int64_t b, int64_t h, int64_t i, int64_t d) {
  return x[b * s.batch + h * s.head + i * s.row + d];
}

Result reference(const Attend &s, const std::vector<float> &q, const std::vector<float> &k, const std::vector<float> &v,
                 const std::vector<float> &dO, const Predicate &mask) {
  Result r;
  r.o.resize(dO.size());
  r.lse.resize(s.batch * s.heads * s.queries);
  r.dQ.resize(q.size());
  r.dK.resize(k.size());
  r.dV.resize(v.size());
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i) {
        int64_t g = h / (s.heads / s.kvHeads);
        std::vector<double> p(s.keys, -INFINITY), dP(s.keys, 0);
        double max = -INFINITY, sum = 0, delta = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          if (!mask(i + s.firstQuery, j + s.firstKey, b + s.firstBatch, h + s.firstHead))
            continue;
          p[j] = 0;
          for (int64_t d = 0; d < s.dim; ++d)
            p[j] += s.scale * at(q, s.q, b, h, i, d) * at(k, s.k, b, g, j, d);
          max = std::max(max, p[j]);
        }
        for (double &x : p)
          sum += x = max == -INFINITY ? 0 : std::exp(x - max);
        r.lse[(b * s.heads + h) * s.queries + i] = sum > 0 ? std::log(sum) + max : -INFINITY;
        for (int64_t j = 0; j < s.keys; ++j) {
          p[j] = sum > 0 ? p[j] / sum : 0;
          for (int64_t e = 0; e < s.valueDim; ++e) {
            double dOut = at(dO, s.o, b, h, i, e);
            r.o[b * s.o.batch + h * s.o.head + i * s.o.row + e] += p[j] * at(v, s.v, b, g, j, e);
            r.dV[b * s.v.batch + g * s.v.head + j * s.v.row + e] += p[j] * dOut;
            dP[j] += dOut * at(v, s.v, b, g, j, e);
          }
          delta += p[j] * dP[j];
        }
        for (int64_t j = 0; j < s.keys; ++j)
          for (int64_t d = 0; d < s.dim; ++d) {
            double dS = p[j] * (dP[j] - delta) * s.scale;
            r.dQ[b * s.q.batch + h * s.q.head + i * s.q.row + d] += dS * at(k, s.k, b, g, j, d);
            r.dK[b * s.k.batch + g * s.k.head + j * s.k.row + d] += dS * at(q, s.q, b, h, i, d);
          }
      }
  return r;
}

/// Errors count relative to the largest expected value.
template <typename T>
void expectNear(const char *what, const std::vector<T> &actual, const std::vector<double> &expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 1;
  for (double x : expected)
    largest = std::isinf(x) ? largest : std::max(largest, std::fabs(x));
  for (size_t i = 0; i < actual.size(); ++i)
    if (!(static_cast<double>(actual[i]) == expected[i])) { // both may be -inf
      ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], tolerance * largest) << what << " at " << i;
    }
}

struct Sizes {
  int64_t batch, heads, kvHeads, queries, keys, dim, valueDim;
};

/// [batch, seq, heads, dim] for q, k, v, o: heads interleaved.
Attend makeShape(const Sizes &s) {
  auto strides = [](int64_t rows, int64_t heads, int64_t dim) {
    return HeadStrides{rows * heads * dim, dim, heads * dim};
  };
  Attend a{.batch = s.batch, .heads = s.heads, .kvHeads = s.kvHeads, .queries = s.queries, .keys = s.keys, .dim = s.dim,
           .valueDim = s.valueDim, .scale = 1.0f / std::sqrt(float(s.dim))};
  a.q = strides(s.queries, s.heads, s.dim);
  a.k = strides(s.keys, s.kvHeads, s.dim);
  a.v = strides(s.keys, s.kvHeads, s.valueDim);
  a.o = strides(s.queries, s.heads, s.valueDim);
  a.lse = {s.heads * s.queries, s.queries, 1};
  return a;
}

template <typename T, typename Mask>
void check(const Attend &s, int threads, const Mask &mask, double tolerance) {
  // Rounded to T first: both sides see the same inputs.
  auto make = [](int64_t count, const char *name) {
    std::vector<float> values = randomValues(count, name);
    for (float &x : values)
      x = static_cast<float>(static_cast<T>(2 * x));
    return values;
  };
  std::vector<float> q = make(s.batch * s.queries * s.heads * s.dim, "q"), k = make(s.batch * s.keys * s.kvHeads * s.dim, "k"),
                     v = make(s.batch * s.keys * s.kvHeads * s.valueDim, "v"), dO = make(s.batch * s.queries * s.heads * s.valueDim, "dO");
  Result expected = reference(s, q, k, v, dO, mask);
  std::vector<T> tq(q.begin(), q.end()), tk(k.begin(), k.end()), tv(v.begin(), v.end()), tdO(dO.begin(), dO.end());
  const T nan = static_cast<T>(NAN); // everything must be written
  std::vector<T> o(dO.size(), nan), dQ(q.size(), nan), dK(k.size(), nan), dV(v.size(), nan);
  std::vector<float> lse(s.batch * s.heads * s.queries, NAN);
  runOne(threads, [&](Rank &rank) {
    attendForward(rank, s, tq.data(), tk.data(), tv.data(), o.data(), lse.data(), mask);
    attendBackward(rank, s, tq.data(), tk.data(), tv.data(), o.data(), lse.data(), tdO.data(), dQ.data(), dK.data(), dV.data(), mask);
  });
  expectNear("o", o, expected.o, tolerance);
  expectNear("lse", lse, expected.lse, 2e-5);
  expectNear("dQ", dQ, expected.dQ, 4 * tolerance);
  expectNear("dK", dK, expected.dK, 8 * tolerance);
  expectNear("dV", dV, expected.dV, 8 * tolerance);
}

} // namespace

TEST(Attention, Causal) {
  for (int64_t length : {1, 3, 63, 64, 65, 300, 530})
    for (int threads : {1, 3})
      check<float>(makeShape({2, 3, 3, length, length, 16, 16}), threads, CausalMask{}, 2e-5);
}

TEST(Attention, Unmasked) {
  check<float>(makeShape({1, 2, 2, 70, 311, 24, 8}), 2, NoMask{}, 2e-5);
}

TEST(Attention, GroupedQueryHeads) {
  check<float>(makeShape({2, 6, 2, 129, 129, 20, 12}), 2, CausalMask{}, 2e-5);
  check<float>(makeShape({1, 5, 1, 33, 47, 8, 8}), 2, NoMask{}, 2e-5);
}

TEST(Attention, AnyPredicate) {
  Attend s = makeShape({2, 2, 2, 90, 110, 8, 8});
  // A sliding window whose width depends on the head, with batch element 1
  // seeing even keys only.
  check<float>(s, 2, [](int64_t query, int64_t key, int64_t batch, int64_t head) {
    return key <= query && key > query - 10 * (head + 1) && (batch == 0 || key % 2 == 0);
  }, 2e-5);
}

TEST(Attention, RowsWithoutVisibleKeys) {
  Attend s = makeShape({1, 2, 2, 100, 100, 8, 8});
  check<float>(s, 2, [](int64_t query, int64_t key, int64_t, int64_t) { return query % 3 != 0 && key <= query; }, 2e-5);
}

// A block of a longer sequence: the mask sees global indices.
TEST(Attention, GlobalOffsets) {
  Attend s = makeShape({1, 2, 2, 64, 128, 8, 8});
  s.firstQuery = 100;
  s.firstKey = 40;
  s.firstBatch = 5;
  s.firstHead = 2;
  check<float>(s, 1, CausalMask{}, 2e-5);
  check<float>(s, 1, [](int64_t query, int64_t key, int64_t batch, int64_t head) {
    return (query + key + batch + head) % 3 == 0;
  }, 2e-5);
}

TEST(Attention, Bf16) {
  check<bf16>(makeShape({2, 4, 2, 130, 130, 16, 16}), 2, CausalMask{}, 1.5e-2);
}

// Large scores: exp must not overflow.
TEST(Attention, LargeScores) {
  Attend s = makeShape({1, 1, 1, 40, 40, 8, 8});
  s.scale = 100;
  check<float>(s, 1, CausalMask{}, 1e-3);
}
