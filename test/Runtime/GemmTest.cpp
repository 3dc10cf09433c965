#include "RunRanks.h"

#include <gtest/gtest.h>

using namespace meshrt;
using namespace meshrt::test;

namespace {

struct Case {
  int64_t m, n, k;
  bool transA = false, transB = false, transC = false;
  float alpha = 1, beta = 0;
  int64_t batch = 1, batch2 = 1;
};

/// Checks one product against the definition in f64.
template <typename T, typename Out>
void check(int threads, const Case &c, double tolerance) {
  std::vector<float> aValues = randomValues(c.batch * c.batch2 * c.m * c.k, "a"),
                     bValues = randomValues(c.batch * c.batch2 * c.k * c.n, "b"),
                     oldValues = randomValues(c.batch * c.batch2 * c.m * c.n, "c");
  std::vector<T> a(aValues.begin(), aValues.end()), b(bValues.begin(), bValues.end());
  std::vector<Out> result(oldValues.begin(), oldValues.end());
  if (c.beta == 0) // must not be read
    std::fill(result.begin(), result.end(), static_cast<Out>(NAN));
  // batch2 is the outer one in memory, to see that strides are obeyed.
  auto strides = [&](int64_t rows, int64_t cols, bool transposed) {
    Strides s = transposed ? Strides{1, rows} : Strides{cols, 1};
    s.batch = rows * cols;
    s.batch2 = rows * cols * c.batch;
    return s;
  };
  Strides as = strides(c.m, c.k, c.transA), bs = strides(c.k, c.n, c.transB), cs = strides(c.m, c.n, c.transC);
  runOne(threads, [&](Rank &rank) {
    MatMul shape{.m = c.m, .n = c.n, .k = c.k, .alpha = c.alpha, .beta = c.beta, .batch = c.batch, .batch2 = c.batch2};
    matmul(rank, shape, a.data(), as, b.data(), bs, result.data(), cs);
  });
  for (int64_t i = 0; i < c.batch; ++i)
    for (int64_t j = 0; j < c.batch2; ++j)
      for (int64_t row = 0; row < c.m; ++row)
        for (int64_t col = 0; col < c.n; ++col) {
          double sum = 0;
          for (int64_t p = 0; p < c.k; ++p)
            sum += double(float(a[i * as.batch + j * as.batch2 + row * as.row + p * as.col])) *
                   double(float(b[i * bs.batch + j * bs.batch2 + p * bs.row + col * bs.col]));
          int64_t at = i * cs.batch + j * cs.batch2 + row * cs.row + col * cs.col;
          double expected = c.alpha * sum + (c.beta ? c.beta * oldValues[at] : 0.0);
          ASSERT_NEAR(double(result[at]), expected, tolerance * (1 + std::fabs(expected)))
              << c.m << "x" << c.n << "x" << c.k << " at " << row << ", " << col << ", threads " << threads;
        }
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (bool transA : {false, true})
    for (bool transB : {false, true})
      for (bool transC : {false, true}) {
        result.push_back({33, 17, 65, transA, transB, transC});
        result.push_back({64, 48, 32, transA, transB, transC, 0.5f, 1.0f});
        result.push_back({1, 19, 7, transA, transB, transC});
        result.push_back({19, 1, 7, transA, transB, transC});
        result.push_back({5, 9, 1, transA, transB, transC, 2.0f, 0.25f});
        result.push_back({7, 6, 5, transA, transB, transC, 1, 0, 2, 3});
      }
  result.push_back({4, 4, 0});
  result.push_back({4, 4, 0, false, false, false, 1.0f, 0.5f});
  result.push_back({0, 4, 3});
  return result;
}

} // namespace

TEST(Gemm, F32) {
  for (const Case &c : cases())
    for (int threads : {1, 3})
      check<float, float>(threads, c, 1e-5);
}

TEST(Gemm, F64) {
  for (const Case &c : cases())
    check<double, double>(2, c, 1e-13);
}

TEST(Gemm, Bf16ToF32) {
  for (const Case &c : cases())
    for (int threads : {1, 3})
      check<bf16, float>(threads, c, 1e-5);
}

TEST(Gemm, Bf16ToBf16) {
  for (Case c : cases()) {
    c.beta = 0;
    check<bf16, bf16>(2, c, 1.0 / 256); // half a unit of 8 significant bits
  }
}

// A shared operand: batch stride 0.
TEST(Gemm, BroadcastOperand) {
  std::vector<float> a = randomValues(2 * 3 * 4, "a"), b = randomValues(4 * 5, "b"), c(2 * 3 * 5);
  runOne(1, [&](Rank &rank) {
    matmul(rank, {.m = 3, .n = 5, .k = 4, .batch = 2}, a.data(), {4, 1, 12}, b.data(), {5, 1, 0}, c.data(), {5, 1, 15});
  });
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t row = 0; row < 3; ++row)
      for (int64_t col = 0; col < 5; ++col) {
        float sum = 0;
        for (int64_t p = 0; p < 4; ++p)
          sum += a[i * 12 + row * 4 + p] * b[p * 5 + col];
        EXPECT_NEAR(c[i * 15 + row * 5 + col], sum, 1e-5);
      }
}

// An operand strided both ways, as a view of an interleaved array.
TEST(Gemm, OperandStridedBothWays) {
  std::vector<float> a = randomValues(6 * 8 * 2, "a"), b = randomValues(8 * 5, "b"), c(6 * 5);
  runOne(2, [&](Rank &rank) {
    matmul(rank, {.m = 6, .n = 5, .k = 8}, a.data(), {16, 2}, b.data(), {5, 1}, c.data(), {5, 1});
  });
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t col = 0; col < 5; ++col) {
      float sum = 0;
      for (int64_t p = 0; p < 8; ++p)
        sum += a[row * 16 + p * 2] * b[p * 5 + col];
      EXPECT_NEAR(c[row * 5 + col], sum, 1e-5);
    }
}
