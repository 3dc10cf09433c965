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
