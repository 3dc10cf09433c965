#include "RunRanks.h"

#include <gtest/gtest.h>

using namespace meshrt;
using namespace meshrt::test;

TEST(Kernels, GatherRowsOfAShard) {
  std::vector<float> table = randomValues(4 * 33, "table"), out(3 * 33, NAN);
  std::vector<int32_t> indices{11, 2, 13};
  runOne(2, [&](Rank &rank) { gatherRows(rank, out.data(), table.data(), indices.data(), 3, 33, 10, 4); });
  for (int64_t j = 0; j < 33; ++j) {
    EXPECT_EQ(out[j], table[33 + j]);
    EXPECT_EQ(out[33 + j], 0.0f); // another rank's row
    EXPECT_EQ(out[66 + j], table[99 + j]);
  }
}

TEST(Kernels, ScatterAddHasOneOrder) {
  const int64_t rows = 200, width = 37;
  std::vector<float> grad = randomValues(rows * width, "grad");
  std::vector<int32_t> indices(rows);
  for (int64_t i = 0; i < rows; ++i)
    indices[i] = static_cast<int32_t>(i * i % 13);
  std::vector<float> expected(5 * width, 1.0f);
  for (int64_t i = 0; i < rows; ++i)
    if (indices[i] >= 4 && indices[i] < 9)
      for (int64_t j = 0; j < width; ++j)
        expected[(indices[i] - 4) * width + j] += grad[i * width + j];
  for (int threads : {1, 2, 5}) {
    std::vector<float> table(5 * width, 1.0f);
    runOne(threads, [&](Rank &rank) { scatterAddRows(rank, table.data(), grad.data(), indices.data(), rows, width, 4, 5); });
    EXPECT_EQ(table, expected);
  }
}

// Each batch has a table of its own; an index past it is dropped, not added to the next one.
TEST(Kernels, ScatterAddInBatches) {
  const int64_t batches = 3, rows = 40, width = 19, tableRows = 4;
  std::vector<float> grad = randomValues(batches * rows * width, "grad");
  std::vector<int32_t> indices(batches * rows);
  for (size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<int32_t>(i * i % 7) - 1;
  std::vector<float> expected(batches * tableRows * width, 1.0f);
  for (int64_t i = 0; i < batches * rows; ++i)
    if (indices[i] >= 1 && indices[i] < 5)
      for (int64_t j = 0; j < width; ++j)
        expected[(i / rows * tableRows + indices[i] - 1) * width + j] += grad[i * width + j];
  for (int threads : {1, 2, 5}) {
    std::vector<float> table(batches * tableRows * width, 1.0f);
    runOne(threads, [&](Rank &rank) { scatterAddRows(rank, table.data(), grad.data(), indices.data(), rows, width, 1, tableRows, batches); });
    EXPECT_EQ(table, expected);
  }
}

// Of equal elements, -0 and 0 among them, the lowest index comes first.
TEST(Kernels, TopKAlongAMiddleDim) {
  // (outer = 1, n = 5, inner = 2): columns 3 -1 7 7 2 and 0 -0.5 -3 9 -0.
  std::vector<float> x = {3, 0, -1, -0.5f, 7, -3, 7, 9, 2, -0.0f}, values(6);
  std::vector<int32_t> indices(6);
  runOne(2, [&](Rank &rank) { topK(rank, x.data(), values.data(), indices.data(), 1, 5, 2, 3); });
  EXPECT_EQ(values, (std::vector<float>{7, 9, 7, 0, 3, 0}));
  EXPECT_EQ(indices, (std::vector<int32_t>{2, 3, 3, 0, 0, 4}));
  std::vector<int32_t> many(600), sorted(600), order(600);
  for (int i = 0; i < 600; ++i)
    many[i] = (i * 7919 + 13) % 601 - 300;
  runOne(1, [&](Rank &rank) { topK(rank, many.data(), sorted.data(), order.data(), 1, 600, 1, 600); });
  for (int i = 0; i < 600; ++i) {
    EXPECT_EQ(sorted[i], many[order[i]]);
    EXPECT_TRUE(i == 0 || sorted[i - 1] > sorted[i]);
  }
}

TEST(Kernels, CumulativeSums) {
  std::vector<float> x = {1, 10, 2, 20, 3, 30}, y(6); // (1, 3, 2)
  runOne(2, [&](Rank &rank) { cumulativeSum(rank, x.data(), y.data(), 1, 3, 2, false, false); });
  EXPECT_EQ(y, (std::vector<float>{1, 10, 3, 30, 6, 60}));
  runOne(2, [&](Rank &rank) { cumulativeSum(rank, x.data(), y.data(), 1, 3, 2, true, true); });
  EXPECT_EQ(y, (std::vector<float>{5, 50, 3, 30, 0, 0}));
  runOne(2, [&](Rank &rank) { cumulativeSum(rank, x.data(), x.data(), 3, 2, 1, false, false); }); // in place
  EXPECT_EQ(x, (std::vector<float>{1, 11, 2, 22, 3, 33}));
  // Wider than one block of columns.
  std::vector<int32_t> wide(3 * 150), sums(3 * 150);
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = static_cast<int32_t>(i % 11);
  runOne(3, [&](Rank &rank) { cumulativeSum(rank, wide.data(), sums.data(), 1, 3, 150, false, false); });
  for (int j = 0; j < 150; ++j)
    EXPECT_EQ(sums[300 + j], wide[j] + wide[150 + j] + wide[300 + j]);
}

namespace {
struct Classified {
  std::vector<double> loss, grad;
};
Classified classifyReference(const std::vector<float> &logits, const std::vector<int32_t> &targets, const std::vector<float> &scale,
                             int64_t vocab) {
  Classified r;
  for (size_t i = 0; i < targets.size(); ++i) {
    const float *row = logits.data() + i * vocab;
    double max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < vocab; ++j)
      max = std::max(max, double(row[j]));
    for (int64_t j = 0; j < vocab; ++j)
      sum += std::exp(row[j] - max);
    r.loss.push_back(std::log(sum) + max - row[targets[i]]);
    for (int64_t j = 0; j < vocab; ++j)
      r.grad.push_back(scale[i] * (std::exp(row[j] - max) / sum - (j == targets[i])));
  }
  return r;
}
} // namespace

TEST(Kernels, Classifier) {
  const int64_t rows = 7, vocab = 101, stride = 104;
  std::vector<float> logits = randomValues(rows * vocab, "logits"), scale = randomValues(rows, "scale");
  for (float &x : logits)
    x *= 50; // exp must not overflow
  std::vector<int32_t> targets{0, 100, 3, 50, 50, 99, 1};
  Classified expected = classifyReference(logits, targets, scale, vocab);
  std::vector<float> padded(rows * stride, NAN), loss(rows);
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(logits.data() + i * vocab, vocab, padded.data() + i * stride);
  runOne(2, [&](Rank &rank) {
    classifier(rank, padded.data(), targets.data(), loss.data(), rows, vocab, stride, scale.data(), 0);
  });
  for (int64_t i = 0; i < rows; ++i) {
    EXPECT_NEAR(loss[i], expected.loss[i], 1e-4);
    for (int64_t j = 0; j < stride; ++j)
      EXPECT_NEAR(padded[i * stride + j], j < vocab ? expected.grad[i * vocab + j] : 0.0, 1e-6);
  }
}

// Three ranks, 101 columns padded to 3 x 34: the last rank has one of padding.
TEST(Kernels, ClassifierOverASplitVocabulary) {
  const int64_t rows = 5, vocab = 101, local = 34;
  std::vector<float> logits = randomValues(rows * vocab, "logits"), scale(rows, 0.25f);
  std::vector<int32_t> targets{0, 100, 34, 67, 68};
  Classified expected = classifyReference(logits, targets, scale, vocab);
  runRanks({{"model", 3}}, 1, [&](Rank &rank) {
    int64_t first = rank.id() * local, columns = std::min(local, vocab - first);
    std::vector<float> part(rows * local, NAN), max(rows), sums(2 * rows), loss(rows);
    for (int64_t i = 0; i < rows; ++i)
      std::copy_n(logits.data() + i * vocab + first, columns, part.data() + i * local);
    classifierMax(rank, part.data(), max.data(), rows, columns, local);
    allReduce(rank, {0}, Reduce::Max, max.data(), rows, {"max", "m.mesh:1"});
    classifierSums(rank, part.data(), targets.data(), max.data(), sums.data(), rows, columns, local, first);
    allReduce(rank, {0}, Reduce::Sum, sums.data(), 2 * rows, {"sums", "m.mesh:1"});
    classifierGrad(rank, part.data(), targets.data(), max.data(), sums.data(), loss.data(), rows, columns, local, first, nullptr, 0.25f);
    for (int64_t i = 0; i < rows; ++i) {
      EXPECT_NEAR(loss[i], expected.loss[i], 1e-5);
      for (int64_t j = 0; j < local; ++j)
        EXPECT_NEAR(part[i * local + j], j < columns ? expected.grad[i * vocab + first + j] : 0.0, 1e-6);
    }
  });
}

TEST(Kernels, SumSquaresDoesNotDependOnThreads) {
  std::vector<float> values = randomValues(300001, "values");
  double exact = 0;
  for (float x : values)
    exact += double(x) * x;
  double first = 0;
  for (int threads : {1, 2, 7})
    runOne(threads, [&](Rank &rank) {
      double sum = sumSquares(rank, values.data(), values.size());
      EXPECT_NEAR(sum, exact, 1e-9 * exact);
      if (threads == 1)
        first = sum;
      EXPECT_EQ(sum, first);
    });
}

TEST(Kernels, MaxOf) {
  std::vector<float> values = randomValues(100, "max");
  for (int64_t count : {0, 1, 31, 32, 33, 100})
    EXPECT_EQ(maxOf(values.data(), count), count ? *std::max_element(values.begin(), values.begin() + count) : -INFINITY);
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(bf16(1.00390625f).bits, 0x3f80);  // a tie, to even
  EXPECT_EQ(bf16(1.01171875f).bits, 0x3f82);  // a tie, to even
  EXPECT_EQ(bf16(1.0039064f).bits, 0x3f81);   // just above the tie
  EXPECT_EQ(bf16(3.4e38f).bits, 0x7f80);      // overflows to inf
  EXPECT_EQ(bf16(-INFINITY).bits, 0xff80);
  EXPECT_TRUE(std::isnan(float(bf16(NAN))));
  EXPECT_TRUE(std::isnan(float(bf16(math::detail::fromBits(0x7f800001u)))));
}
