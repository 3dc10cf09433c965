//===- GemmTest.cpp - Strides, batches, types and epilogues of matmul -----===//
#include "meshrt/cuda/gemm.h"

#include "OneRank.h"

#include <cmath>

using namespace meshrt;

namespace {

class Gemm : public OneRank {
protected:
  /// Compares matmul with the definition, in f64. `T`: type of A and B.
  template <typename T, typename Out>
  void expectProduct(MatMul s, Strides as, Strides bs, Strides cs,
                     double tolerance) {
    auto fill = [&](auto &values) {
      for (auto &value : values)
        value = std::decay_t<decltype(value)>(normal(1)[0]);
    };
    std::vector<T> a(extent(s.batch, s.batch2, s.m, s.k, as));
    std::vector<T> b(extent(s.batch, s.batch2, s.k, s.n, bs));
    std::vector<Out> c(extent(s.batch, s.batch2, s.m, s.n, cs));
    fill(a), fill(b), fill(c);
    std::vector<Out> expected = c;
    for (int64_t x = 0; x < s.batch; ++x)
      for (int64_t y = 0; y < s.batch2; ++y)
        for (int64_t i = 0; i < s.m; ++i)
          for (int64_t j = 0; j < s.n; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < s.k; ++k)
              sum += double(a[at(x, y, i, k, as)]) * double(b[at(x, y, k, j, bs)]);
            Out &out = expected[at(x, y, i, j, cs)];
            double old = s.beta == 0 ? 0 : double(out) * s.beta;
            out = Out(static_cast<float>(s.alpha * sum + old));
          }
    matmul(rank(), s, a.data(), as, b.data(), bs, c.data(), cs);
    for (size_t i = 0; i < c.size(); ++i)
      ASSERT_NEAR(double(c[i]), double(expected[i]),
                  tolerance * (1 + std::fabs(double(expected[i]))))
          << "element " << i;
  }

  static int64_t at(int64_t x, int64_t y, int64_t i, int64_t j, Strides s) {
    return x * s.batch + y * s.batch2 + i * s.row + j * s.col;
  }
  static int64_t extent(int64_t x, int64_t y, int64_t i, int64_t j, Strides s) {
    return at(x - 1, y - 1, i - 1, j - 1, s) + 1;
  }
};

TEST_F(Gemm, EveryCombinationOfOrders) {
  const int64_t m = 5, n = 7, k = 3;
  for (int bits = 0; bits < 8; ++bits) {
    Strides a = bits & 1 ? Strides{1, m} : Strides{k, 1};
    Strides b = bits & 2 ? Strides{1, k} : Strides{n, 1};
    Strides c = bits & 4 ? Strides{1, m} : Strides{n, 1};
    SCOPED_TRACE(bits);
    expectProduct<float, float>({.m = m, .n = n, .k = k}, a, b, c, 1e-5);
    expectProduct<float, float>({.m = m, .n = n, .k = k, .alpha = 0.5f, .beta = 1},
                                a, b, c, 1e-5);
  }
}

TEST_F(Gemm, SizesOfOneInEveryOrder) {
  for (int bits = 0; bits < 64; ++bits) {
    int64_t m = bits & 1 ? 1 : 3, n = bits & 2 ? 1 : 4, k = bits & 4 ? 1 : 5;
    Strides a = bits & 8 ? Strides{1, m} : Strides{k, 1};
    Strides b = bits & 16 ? Strides{1, k} : Strides{n, 1};
    Strides c = bits & 32 ? Strides{1, m} : Strides{n, 1};
    SCOPED_TRACE(bits);
    expectProduct<float, float>({.m = m, .n = n, .k = k}, a, b, c, 1e-5);
  }
}

TEST_F(Gemm, RowsApart) {
  expectProduct<float, float>({.m = 4, .n = 6, .k = 8}, {20, 1}, {11, 1}, {9, 1}, 1e-5);
}

TEST_F(Gemm, BatchesFuseOrLoop) {
  // q, k [batch = 2, seq = 4, heads = 3, head = 8] -> s [batch, heads, 4, 4]
  expectProduct<float, float>({.m = 4, .n = 4, .k = 8, .batch = 2, .batch2 = 3},
                              {24, 1, 96, 8}, {1, 24, 96, 8}, {4, 1, 48, 16}, 1e-5);
  // Contiguous batches; one matrix for all batches.
  expectProduct<float, float>({.m = 4, .n = 4, .k = 8, .batch = 2, .batch2 = 3},
                              {8, 1, 96, 32}, {4, 1, 96, 32}, {4, 1, 48, 16}, 1e-5);
  expectProduct<float, float>({.m = 4, .n = 4, .k = 8, .batch = 5, .batch2 = 1},
                              {8, 1, 32, 0}, {4, 1, 0, 0}, {4, 1, 16, 0}, 1e-5);
}

TEST_F(Gemm, Types) {
  MatMul shape{.m = 8, .n = 16, .k = 24};
  expectProduct<bf16, float>(shape, {24, 1}, {16, 1}, {16, 1}, 1e-5);
  expectProduct<bf16, bf16>(shape, {24, 1}, {1, 24}, {16, 1}, 1e-2);
  expectProduct<double, double>(shape, {24, 1}, {16, 1}, {16, 1}, 1e-6);
}

TEST_F(Gemm, EmptySumScalesC) {
  std::vector<float> c = {1, 2, 3, 4}, none;
  matmul(rank(), {.m = 2, .n = 2, .k = 0, .beta = 3}, none.data(), {0, 1},
         none.data(), {2, 1}, c.data(), {2, 1});
  EXPECT_EQ(c, (std::vector<float>{3, 6, 9, 12}));
  c[0] = NAN; // beta == 0 must not read C
  matmul(rank(), {.m = 2, .n = 2, .k = 0}, none.data(), {0, 1}, none.data(),
         {2, 1}, c.data(), {2, 1});
  EXPECT_EQ(c, (std::vector<float>(4)));
}

TEST_F(Gemm, BiasAndGelu) {
  std::vector<float> a = {1, 0, 0, 1}, b = {1, -2, 3, 0.5f}, bias = {10, 20};
  std::vector<float> c(4), aux(4);
  matmul(rank(), {.m = 2, .n = 2, .k = 2}, a.data(), {2, 1}, b.data(), {2, 1},
         c.data(), {2, 1}, {Epilogue::Bias, bias.data(), nullptr});
  EXPECT_EQ(c, (std::vector<float>{11, 18, 13, 20.5f}));
  matmul(rank(), {.m = 2, .n = 2, .k = 2}, a.data(), {2, 1}, b.data(), {2, 1},
         c.data(), {2, 1}, {Epilogue::GeluAux, nullptr, aux.data()});
  EXPECT_EQ(aux, b);
  EXPECT_NEAR(c[0], 0.841192f, 1e-5);
  EXPECT_NEAR(c[1], -0.0454023f, 1e-5);
}

TEST_F(Gemm, StridesThatAreNoMatrixAreRefused) {
  std::vector<float> x(64);
  EXPECT_THROW(matmul(rank(), {.m = 4, .n = 4, .k = 4}, x.data(), {8, 2},
                      x.data(), {4, 1}, x.data(), {4, 1}),
               Error);
}

} // namespace
