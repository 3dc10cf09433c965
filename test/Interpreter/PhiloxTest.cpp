//===- PhiloxTest.cpp - known answers of the random numbers ----------------===//
#include "Philox.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace meshc::interp;
using Words = std::array<uint32_t, 4>;

// From Random123's kat_vectors, "philox4x32 10".
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones}, {ones, ones, ones, ones}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// From the FNV reference: hash32("") and hash32("a").
TEST(Philox, PathHash) {
  EXPECT_EQ(hashPath(""), 0x811c9dc5u);
  EXPECT_EQ(hashPath("a"), 0xe40c292cu);
}

TEST(Philox, RepeatsMixInOrder) {
  EXPECT_EQ(mixRepeat(0, 0), 1u);
  EXPECT_EQ(mixRepeat(mixRepeat(0, 2), 1), 3u * 0x9E3779B1u + 2);
}

TEST(Philox, Distributions) {
  EXPECT_EQ(uniformOf(0), 0x1p-24);
  EXPECT_EQ(uniformOf(0xffffffff), 1 - 0x1p-24);
  // u = 1/2 + 2^-24 for the radius, 2^-24 of a turn for the angle.
  EXPECT_NEAR(normalOf({0x80000000, 0, 0, 0}), std::sqrt(2 * std::log(2.0)), 1e-6);
  EXPECT_TRUE(keepOf(0xffffffff, 1.0));
  EXPECT_FALSE(keepOf(0, 0.0));
  EXPECT_TRUE(keepOf(0x7ffffffe, 0.5));
  EXPECT_FALSE(keepOf(0x80000000, 0.5));
}
