//===- AttentionTest.cpp - Fused attention against its formulas in f64 ----===//
#include "meshrt/cuda/attention.h"

#include "OneRank.h"

using namespace meshrt;

namespace {

/// Values of one call, laid out [batch, row, head, dim] as in a GPT.
struct Case {
  Attend s;
  std::vector<float> q, k, v, dO;
};

using Mask = bool (*)(int64_t query, int64_t key, int64_t batch, int64_t head);

struct Plain { // a mask without `block`
  Mask mask;
  bool operator()(int64_t i, int64_t j, int64_t b, int64_t h) const {
    return mask(i, j, b, h);
  }
};

class Attention : public OneRank {
protected:
  Case make(int64_t batch, int64_t heads, int64_t kvHeads, int64_t queries,
            int64_t keys, int64_t dim, int64_t valueDim) {
    Case c;
    c.s = {.batch = batch, .heads = heads, .kvHeads = kvHeads,
           .queries = queries, .keys = keys, .dim = dim, .valueDim = valueDim,
           .scale = 0.3f,
           .q = {queries * heads * dim, dim, heads * dim},
           .k = {keys * kvHeads * dim, dim, kvHeads * dim},
           .v = {keys * kvHeads * valueDim, valueDim, kvHeads * valueDim},
           .o = {queries * heads * valueDim, valueDim, heads * valueDim},
           .lse = {heads * queries, queries, 1}};
    c.q = normal(batch * queries * heads * dim);
    c.k = normal(batch * keys * kvHeads * dim);
    c.v = normal(batch * keys * kvHeads * valueDim);
    c.dO = normal(batch * queries * heads * valueDim);
    return c;
  }

  template <typename T, typename M>
  void expectMatches(const Case &c, const M &mask, double tolerance);
};

template <typename T> std::vector<T> as(const std::vector<float> &values) {
  return std::vector<T>(values.begin(), values.end());
}

template <typename T, typename M>
void Attention::expectMatches(const Case &c, const M &mask, double tolerance) {
  const Attend &s = c.s;
  std::vector<T> q = as<T>(c.q), k = as<T>(c.k), v = as<T>(c.v), dO = as<T>(c.dO);
  std::vector<T> o(dO.size()), dQ(q.size()), dK(k.size()), dV(v.size());
  std::vector<float> lse(s.batch * s.heads * s.queries);
  attendForward(rank(), s, q.data(), k.data(), v.data(), o.data(), lse.data(), mask);
  attendBackward(rank(), s, q.data(), k.data(), v.data(), o.data(), lse.data(),
                 dO.data(), dQ.data(), dK.data(), dV.data(), mask);

  std::vector<double> wantO(o.size()), wantQ(q.size()), wantK(k.size()), wantV(v.size());
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i) {
        int64_t g = h / (s.heads / s.kvHeads);
        int64_t qi = b * s.q.batch + h * s.q.head + i * s.q.row;
        int64_t oi = b * s.o.batch + h * s.o.head + i * s.o.row;
        auto kj = [&](int64_t j) { return b * s.k.batch + g * s.k.head + j * s.k.row; };
        auto vj = [&](int64_t j) { return b * s.v.batch + g * s.v.head + j * s.v.row; };
        std::vector<double> p(s.keys);
        double total = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          double score = 0;
          for (int64_t d = 0; d < s.dim; ++d)
            score += double(q[qi + d]) * double(k[kj(j) + d]);
          bool seen = mask(s.firstQuery + i, s.firstKey + j, s.firstBatch + b,
                           s.firstHead + h);
          p[j] = seen ? std::exp(score * s.scale) : 0;
          total += p[j];
        }
        float got = lse[b * s.lse.batch + h * s.lse.head + i * s.lse.row];
        if (total == 0) {
          EXPECT_EQ(got, -INFINITY);
          continue;
        }
        EXPECT_NEAR(got, std::log(total), tolerance * 10);
        double delta = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          p[j] /= total;
          for (int64_t e = 0; e < s.valueDim; ++e)
            wantO[oi + e] += p[j] * double(v[vj(j) + e]);
        }
        for (int64_t e = 0; e < s.valueDim; ++e)
          delta += wantO[oi + e] * double(dO[oi + e]);
        for (int64_t j = 0; j < s.keys; ++j) {
          double dp = 0;
          for (int64_t e = 0; e < s.valueDim; ++e) {
            dp += double(dO[oi + e]) * double(v[vj(j) + e]);
            wantV[vj(j) + e] += p[j] * double(dO[oi + e]);
          }
          double ds = p[j] * (dp - delta) * s.scale;
          for (int64_t d = 0; d < s.dim; ++d) {
            wantQ[qi + d] += ds * double(k[kj(j) + d]);
            wantK[kj(j) + d] += ds * double(q[qi + d]);
          }
        }
      }
  auto expectNear = [&](const std::vector<T> &got, const std::vector<double> &want,
                        const char *what) {
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(double(got[i]), want[i], tolerance * (1 + std::fabs(want[i])))
          << what << "[" << i << "]";
  };
  expectNear(o, wantO, "o");
  expectNear(dQ, wantQ, "dQ");
  expectNear(dK, wantK, "dK");
  expectNear(dV, wantV, "dV");
}

TEST_F(Attention, CausalOverSeveralTiles) {
  expectMatches<float>(make(1, 2, 2, 150, 150, 32, 32), CausalMask{}, 2e-5);
}

TEST_F(Attention, HeadDims) {
  for (int64_t dim : {8, 24, 64, 80, 128}) {
    SCOPED_TRACE(dim);
    expectMatches<float>(make(1, 1, 1, 40, 40, dim, dim), CausalMask{}, 5e-5);
  }
}

TEST_F(Attention, NoMaskAndDifferentSizes) {
  expectMatches<float>(make(2, 2, 2, 17, 90, 16, 40), NoMask{}, 2e-5);
}

TEST_F(Attention, GroupedQueries) {
  expectMatches<float>(make(2, 6, 2, 33, 33, 16, 16), CausalMask{}, 2e-5);
}

TEST_F(Attention, MaskOnGlobalIndices) {
  Case c = make(2, 2, 1, 70, 70, 16, 16);
  c.s.firstQuery = 70;
  c.s.firstKey = 20;
  c.s.firstBatch = 3;
  c.s.firstHead = 4;
  expectMatches<float>(c, CausalMask{}, 2e-5);
  // A window, another one per batch element and head.
  Plain window{[](int64_t i, int64_t j, int64_t b, int64_t h) {
    return j <= i && i - j < 40 + 7 * b + h;
  }};
  expectMatches<float>(c, window, 2e-5);
}

TEST_F(Attention, RowsWithoutKeysAreZero) {
  Plain odd{[](int64_t i, int64_t, int64_t, int64_t) { return i % 2 == 1; }};
  expectMatches<float>(make(1, 1, 1, 9, 9, 16, 16), odd, 2e-5);
}

TEST_F(Attention, Bf16) {
  expectMatches<bf16>(make(1, 2, 1, 80, 80, 32, 32), CausalMask{}, 2e-2);
}

TEST_F(Attention, LargeHeadDimIsRefused) {
  Case c = make(1, 1, 1, 2, 2, 200, 200);
  std::vector<float> o(c.q.size()), lse(2);
  EXPECT_THROW(attendForward(rank(), c.s, c.q.data(), c.k.data(), c.v.data(),
                             o.data(), lse.data(), NoMask{}),
               Error);
}

} // namespace
