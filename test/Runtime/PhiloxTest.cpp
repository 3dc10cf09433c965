#include "meshrt/philox.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace meshrt;

// The known-answer vectors that Random123 publishes (tests/kat_vectors).
TEST(Philox, KnownAnswers) {
  struct {
    PhiloxWords counter;
    uint32_t key0, key1;
    PhiloxWords expected;
  } vectors[] = {
      {{0, 0, 0, 0}, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto &v : vectors) {
    PhiloxWords w = philox4x32(v.key0, v.key1, v.counter);
    EXPECT_EQ(w.w0, v.expected.w0);
    EXPECT_EQ(w.w1, v.expected.w1);
    EXPECT_EQ(w.w2, v.expected.w2);
    EXPECT_EQ(w.w3, v.expected.w3);
  }
}

// FNV-1a's published values (draft-eastlake-fnv).
TEST(Philox, PathHash) {
  EXPECT_EQ(hash32(""), 0x811c9dc5u);
  EXPECT_EQ(hash32("a"), 0xe40c292cu);
  EXPECT_EQ(hash32("foobar"), 0xbf9cf968u);
}

TEST(Philox, RepeatsDoNotCommute) {
  EXPECT_EQ(mixRepeat(0, 0), 1u);
  EXPECT_NE(mixRepeat(mixRepeat(0, 1), 2), mixRepeat(mixRepeat(0, 2), 1));
  EXPECT_NE(mixRepeat(0, 0), mixRepeat(mixRepeat(0, 0), 0));
}

TEST(Philox, UniformLiesInTheOpenInterval) {
  EXPECT_EQ(PhiloxStream::unit(0), 0x1p-24f);
  EXPECT_EQ(PhiloxStream::unit(0xffffffffu), 1 - 0x1p-24f);
  EXPECT_EQ(PhiloxStream::unit(0x80000000u), 0.5f + 0x1p-24f);
}

TEST(Philox, Moments) {
  constexpr int64_t kCount = 1 << 20;
  PhiloxStream stream{1, hash32("test"), 0, 0};
  double uniform = 0, normal = 0, square = 0, fourth = 0;
  int64_t kept = 0, tail = 0;
  uint32_t threshold = keepThreshold(0.9);
  for (int64_t i = 0; i < kCount; ++i) {
    uniform += stream.uniform(i);
    double x = stream.normal(i);
    normal += x;
    square += x * x;
    fourth += x * x * x * x;
    tail += std::fabs(x) > 2;
    kept += stream.keep(i, threshold);
  }
  // Bounds of five standard errors.
  double root = std::sqrt(double(kCount));
  EXPECT_NEAR(uniform / kCount, 0.5, 5 * 0.289 / root);
  EXPECT_NEAR(normal / kCount, 0, 5 / root);
  EXPECT_NEAR(square / kCount, 1, 5 * 1.42 / root);
  EXPECT_NEAR(fourth / kCount, 3, 5 * 9.8 / root);
  EXPECT_NEAR(double(tail) / kCount, 0.0455003, 5 * 0.209 / root);
  EXPECT_NEAR(double(kept) / kCount, 0.9, 5 * 0.3 / root);
}

TEST(Philox, KeepAtTheEnds) {
  PhiloxStream stream{0, 0, 0, 0};
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_TRUE(stream.keep(i, keepThreshold(1)));
    EXPECT_FALSE(stream.keep(i, keepThreshold(0)));
  }
}

// The formulas of the header comment in f64: the f32 result is within rounding.
TEST(Philox, NormalFollowsItsFormula) {
  PhiloxStream stream{3, hash32("gpt.wte"), kInitStep, 0};
  for (uint64_t i = 0; i < 10000; ++i) {
    PhiloxWords w = stream.words(i);
    double u = ((w.w0 >> 9) + 0.5) * 0x1p-23, v = ((w.w1 >> 9) + 0.5) * 0x1p-23;
    double expected = std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
    EXPECT_NEAR(stream.normal(i), expected, 4e-6) << i;
  }
}

TEST(Philox, VectorizedLoopsGiveTheSameBits) {
  PhiloxStream stream{3, hash32("gpt.wte"), kInitStep, 0};
  std::vector<float> values(5000);
  const uint64_t first = 0xffffff00u; // crosses the counter's low word
#pragma omp simd
  for (uint64_t i = 0; i < 5000; ++i)
    values[i] = stream.normal(first + i);
  for (uint64_t i = 0; i < 5000; ++i) {
    volatile uint64_t index = first + i;
    EXPECT_EQ(values[i], stream.normal(index));
  }
}
