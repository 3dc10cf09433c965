//===- KernelsTest.cpp - Skeletons and library kernels --------------------===//
#include "meshrt/cuda/kernels.h"
#include "meshrt/cuda/teams.h"
#include "meshrt/math.h"

#include "OneRank.h"

using namespace meshrt;

namespace {

class Kernels : public OneRank {};

/// y (rows, cols) = x - mean of the row.
template <int kTeam>
__global__ void center_kernel(float *y, const float *x, int64_t rows, int64_t cols) {
  Row<kTeam> row;
  for (int64_t r = row.first(); r < rows; r += row.step()) {
    float mean = row.sum(cols, [&](int64_t i) { return x[r * cols + i]; }) / cols;
    row.each(cols, [&](int64_t i) { y[r * cols + i] = x[r * cols + i] - mean; });
  }
}

template <int kTeam> std::vector<float> center(Rank &rank, const std::vector<float> &x, int64_t cols) {
  std::vector<float> y(x.size());
  int64_t rows = x.size() / cols;
  launch(rank, rowShape<kTeam>(rows), center_kernel<kTeam>, y.data(), x.data(), rows, cols);
  return y;
}

TEST_F(Kernels, RowsByWarpAndByBlock) {
  for (int64_t cols : {1, 31, 200}) {
    std::vector<float> x = normal(7 * cols);
    for (const std::vector<float> &y :
         {center<32>(rank(), x, cols), center<256>(rank(), x, cols)})
      for (int64_t r = 0; r < 7; ++r) {
        double mean = 0;
        for (int64_t i = 0; i < cols; ++i)
          mean += x[r * cols + i] / double(cols);
        for (int64_t i = 0; i < cols; ++i)
          ASSERT_NEAR(y[r * cols + i], x[r * cols + i] - mean, 1e-5);
      }
  }
}

/// sums (cols) += sum, largest (cols) = max over the rows of x (rows, cols).
__global__ void columns_kernel(float *sums, float *largest, const float *x,
                               int64_t rows, int64_t cols) {
  Column team(cols);
  const int64_t c = team.index();
  float sum = 0;
  team.each(rows, [&](int64_t r) { sum += x[r * cols + c]; });
  sum = team.sum(sum);
  float top = team.max(rows, [&](int64_t r) { return x[r * cols + c]; });
  if (team.leads()) {
    sums[c] += sum;
    largest[c] = top;
  }
}

TEST_F(Kernels, Columns) {
  for (int64_t rows : {0, 1, 600}) {
    const int64_t cols = 45;
    std::vector<float> x = normal(rows * cols), sums(cols, 100), largest(cols);
    launch(rank(), columnShape(cols), columns_kernel, sums.data(), largest.data(), x.data(), rows,
           cols);
    for (int64_t c = 0; c < cols; ++c) {
      double sum = 100;
      float top = -INFINITY;
      for (int64_t r = 0; r < rows; ++r) {
        sum += x[r * cols + c];
        top = std::max(top, x[r * cols + c]);
      }
      ASSERT_NEAR(sums[c], sum, 1e-4) << rows;
      ASSERT_EQ(largest[c], top);
    }
  }
}

__global__ void grid_kernel(double *squares, float *largest, int *launches, const float *x,
                            int64_t n, Reduction reduction) {
  Grid team;
  double sum = 0;
  float top = Max::identity<float>();
  team.each(n, [&](int64_t i) {
    sum += double(x[i]) * x[i];
    top = Max()(top, x[i]);
  });
  if (!team.reduce(reduction, by<Sum>(sum), by<Max>(top)))
    return;
  if (team.leads()) {
    *squares = sum;
    *largest = top;
    *launches += 1;
  }
}

TEST_F(Kernels, WholeGridReducesOnceAndAgain) {
  int launches = 0;
  for (int64_t n : {0, 1, 1000, 300000}) {
    std::vector<float> x = normal(n);
    float largest = 0, top = -INFINITY;
    double squares = 0, want = 0;
    launch(rank(), gridShape(n), grid_kernel, &squares, &largest, &launches, x.data(), n,
           rank().reduction());
    for (float value : x) {
      want += double(value) * value;
      top = std::max(top, value);
    }
    EXPECT_EQ(largest, top);
    EXPECT_NEAR(squares, want, 1e-9 * want);
  }
  EXPECT_EQ(launches, 4); // one block goes on, per launch
}

TEST_F(Kernels, ClassifierWholeAndSplitAgreeWithTheDefinition) {
  const int64_t rows = 3, vocab = 700, stride = 704;
  std::vector<float> x = normal(rows * stride), scale = {1, 0, 2};
  std::vector<int32_t> targets = {0, 699, 350};
  std::vector<float> whole = x, loss(rows);
  classifier(rank(), whole.data(), targets.data(), loss.data(), rows, vocab, stride,
             scale.data(), 0.5f);
  // Columns [300, 700) of a vocabulary split in two, by hand.
  const int64_t first = 300, local = 400, localStride = 404;
  std::vector<float> part(rows * localStride), rowMax(rows), sums(2 * rows), partLoss(rows);
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(&x[r * stride + first], local, &part[r * localStride]);
    rowMax[r] = *std::max_element(&x[r * stride], &x[r * stride + vocab]);
  }
  classifierSums(rank(), part.data(), targets.data(), rowMax.data(), sums.data(), rows,
                 local, localStride, first);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < first; ++j) {
      sums[2 * r] += std::exp(x[r * stride + j] - rowMax[r]);
      sums[2 * r + 1] += j == targets[r] ? x[r * stride + j] : 0;
    }
  classifierGrad(rank(), part.data(), targets.data(), rowMax.data(), sums.data(),
                 partLoss.data(), rows, local, localStride, first, scale.data(), 0.5f);

  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t j = 0; j < vocab; ++j)
      sum += std::exp(double(x[r * stride + j]));
    double want = std::log(sum) - x[r * stride + targets[r]];
    EXPECT_NEAR(loss[r], want, 1e-5);
    EXPECT_NEAR(partLoss[r], want, 1e-5);
    for (int64_t j = 0; j < vocab; ++j) {
      double grad = (std::exp(double(x[r * stride + j])) / sum - (j == targets[r])) *
                    scale[r] * 0.5;
      ASSERT_NEAR(whole[r * stride + j], grad, 1e-6);
      if (j >= first)
        ASSERT_NEAR(part[r * localStride + j - first], grad, 1e-6);
    }
    for (int64_t j = local; j < localStride; ++j)
      EXPECT_EQ(part[r * localStride + j], 0);
  }
}

TEST_F(Kernels, GatherOfOneRanksRows) {
  std::vector<float> table = {1, 2, 3, 4, 5, 6}, out(8); // rows 10, 11, 12
  std::vector<int32_t> indices = {12, 9, 10, 13};
  gatherRows(rank(), out.data(), table.data(), indices.data(), 4, 2, 10, 3);
  EXPECT_EQ(out, (std::vector<float>{5, 6, 0, 0, 1, 2, 0, 0}));
}

TEST_F(Kernels, ScatterAddInOrderOfRows) {
  // Sums whose value depends on the order: 1e8 first swallows the ones.
  const int64_t rows = 900, width = 3;
  std::vector<float> grad(rows * width), table(5 * width, 1);
  std::vector<int32_t> indices(rows);
  for (int64_t i = 0; i < rows; ++i) {
    indices[i] = static_cast<int32_t>((i * 7 + 3) % 11); // rows 2..6 are local
    for (int64_t c = 0; c < width; ++c)
      grad[i * width + c] = i % 17 == 0 ? 1e8f : static_cast<float>(i % 3);
  }
  std::vector<float> want = table;
  for (int64_t i = 0; i < rows; ++i)
    if (indices[i] >= 2 && indices[i] < 7)
      for (int64_t c = 0; c < width; ++c)
        want[(indices[i] - 2) * width + c] += grad[i * width + c];
  scatterAddRows(rank(), table.data(), grad.data(), indices.data(), rows, width, 2, 5);
  EXPECT_EQ(table, want); // bit for bit
}

TEST_F(Kernels, ScatterAddInBatches) {
  // Two batches of three rows into tables of two; rows 4 and 5 are local, an index past them is dropped.
  std::vector<float> grad = {1, 2, 4, 8, 16, 32}, table = {0, 0, 0, 100};
  std::vector<int32_t> indices = {4, 6, 4, 5, 3, 5};
  scatterAddRows(rank(), table.data(), grad.data(), indices.data(), 3, 1, 4, 2, 2);
  EXPECT_EQ(table, (std::vector<float>{5, 0, 0, 140}));
}

TEST_F(Kernels, TopKAlongAMiddleDim) {
  // (outer = 1, n = 5, inner = 2): columns 3 -1 7 7 2 and 0 -0.5 -3 9 -0.
  std::vector<float> x = {3, 0, -1, -0.5f, 7, -3, 7, 9, 2, -0.0f}, values(6);
  std::vector<int32_t> indices(6);
  topK(rank(), x.data(), values.data(), indices.data(), 1, 5, 2, 3);
  EXPECT_EQ(values, (std::vector<float>{7, 9, 7, 0, 3, 0}));
  EXPECT_EQ(indices, (std::vector<int32_t>{2, 3, 3, 0, 0, 4}));
  // k = n is a sort; more elements than threads.
  std::vector<int32_t> many(600), sorted(600), order(600);
  for (int i = 0; i < 600; ++i)
    many[i] = (i * 7919 + 13) % 601 - 300;
  topK(rank(), many.data(), sorted.data(), order.data(), 1, 600, 1, 600);
  for (int i = 0; i < 600; ++i) {
    EXPECT_EQ(sorted[i], many[order[i]]);
    EXPECT_TRUE(i == 0 || sorted[i - 1] > sorted[i]);
  }
}

TEST_F(Kernels, CumulativeSums) {
  std::vector<float> x = {1, 10, 2, 20, 3, 30}, y(6); // (1, 3, 2)
  cumulativeSum(rank(), x.data(), y.data(), 1, 3, 2, false, false);
  EXPECT_EQ(y, (std::vector<float>{1, 10, 3, 30, 6, 60}));
  cumulativeSum(rank(), x.data(), y.data(), 1, 3, 2, true, true);
  EXPECT_EQ(y, (std::vector<float>{5, 50, 3, 30, 0, 0}));
  cumulativeSum(rank(), x.data(), x.data(), 3, 2, 1, false, false); // in place
  EXPECT_EQ(x, (std::vector<float>{1, 11, 2, 22, 3, 33}));
}

/// d (16, 8) = a (16, 16) b (16, 8), by one warp; columns of b lie together.
__global__ void mma_kernel(float *d, const bf16 *a, const bf16 *b) {
  int g = laneId() / 4, t = laneId() % 4;
  auto pair = [](const bf16 *p) { return uint32_t(p[0].bits) | uint32_t(p[1].bits) << 16; };
  uint32_t aPart[4] = {pair(a + g * 16 + 2 * t), pair(a + (g + 8) * 16 + 2 * t),
                       pair(a + g * 16 + 2 * t + 8), pair(a + (g + 8) * 16 + 2 * t + 8)};
  uint32_t bPart[2] = {pair(b + g * 16 + 2 * t), pair(b + g * 16 + 2 * t + 8)};
  float sums[4] = {};
  mmaBf16(sums, aPart, bPart);
  d[g * 8 + 2 * t] = sums[0];
  d[g * 8 + 2 * t + 1] = sums[1];
  d[(g + 8) * 8 + 2 * t] = sums[2];
  d[(g + 8) * 8 + 2 * t + 1] = sums[3];
}

TEST_F(Kernels, MatrixFragments) {
  std::vector<bf16> a, b;
  for (float x : normal(256))
    a.push_back(bf16(x));
  for (float x : normal(128))
    b.push_back(bf16(x));
  std::vector<float> d(128);
  launch(rank(), {1, 32}, mma_kernel, d.data(), a.data(), b.data());
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      double sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += double(a[i * 16 + k]) * double(b[j * 16 + k]);
      EXPECT_NEAR(d[i * 8 + j], sum, 1e-5);
    }
}

} // namespace
