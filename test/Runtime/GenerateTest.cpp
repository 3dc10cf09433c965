#include "common/Generate.h"

#include <gtest/gtest.h>

using namespace meshrt;

TEST(Generate, TemperatureZeroTakesTheFirstLargest) {
  EXPECT_EQ(sampleToken({1, 5, 5, 2}, 0, 0.99), 1);
}

// softmax of log(1), log(2), log(1): probabilities 1/4, 1/2, 1/4.
TEST(Generate, SamplesBySoftmax) {
  std::vector<float> logits{0.0f, std::log(2.0f), 0.0f};
  EXPECT_EQ(sampleToken(logits, 1, 0.0), 0);
  EXPECT_EQ(sampleToken(logits, 1, 0.24), 0);
  EXPECT_EQ(sampleToken(logits, 1, 0.26), 1);
  EXPECT_EQ(sampleToken(logits, 1, 0.74), 1);
  EXPECT_EQ(sampleToken(logits, 1, 0.76), 2);
  EXPECT_EQ(sampleToken(logits, 1, 0.9999999), 2);
  // At temperature 1/2 the weights are squared: 1/6, 4/6, 1/6.
  EXPECT_EQ(sampleToken(logits, 0.5, 0.16), 0);
  EXPECT_EQ(sampleToken(logits, 0.5, 0.17), 1);
  EXPECT_EQ(sampleToken(logits, 0.5, 0.84), 2);
}

TEST(Generate, LargeLogitsDoNotOverflow) {
  EXPECT_EQ(sampleToken({1000, 2000, 1999}, 1, 0.5), 1);
}
