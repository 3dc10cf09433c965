// Errors of math.h against f64, in units in the last place of the f32 result.
#include "meshrt/math.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace meshrt;

static double ulps(float value, double expected) {
  float rounded = static_cast<float>(expected);
  if (std::isinf(rounded) || std::isinf(value))
    return rounded == value ? 0 : 1e9;
  // Denormal results count in the least normal's units: they may be flushed.
  float magnitude = std::max(std::fabs(rounded), std::numeric_limits<float>::min());
  double unit = std::nextafter(magnitude, INFINITY) - magnitude;
  return std::fabs(value - expected) / unit;
}

/// The largest error over every `stride`-th f32 in [low, high], both signs of
/// the bit pattern order included.
template <typename F, typename G>
static double worst(float low, float high, F function, G reference) {
  double worst = 0;
  constexpr uint32_t kStride = 1009; // prime: all mantissa endings occur
  for (int sign = 0; sign < 2; ++sign)
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += kStride) {
      float x = math::detail::fromBits(bits | uint32_t(sign) << 31);
      if (x < low || x > high)
        continue;
      worst = std::max(worst, ulps(function(x), reference(double(x))));
    }
  return worst;
}

TEST(Math, Exp) {
  EXPECT_LE(worst(-87.33f, 88.72f, math::exp, [](double x) { return std::exp(x); }), 2);
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::exp(89.0f), INFINITY);
  EXPECT_EQ(math::exp(INFINITY), INFINITY);
  EXPECT_EQ(math::exp(-105.0f), 0.0f);
  EXPECT_EQ(math::exp(-INFINITY), 0.0f);
  EXPECT_TRUE(std::isnan(math::exp(NAN)));
}

TEST(Math, Log) {
  EXPECT_LE(worst(1e-45f, 3.4028234e38f, math::log, [](double x) { return std::log(x); }), 2);
  EXPECT_EQ(math::log(1.0f), 0.0f);
  EXPECT_EQ(math::log(0.0f), -INFINITY);
  EXPECT_EQ(math::log(-0.0f), -INFINITY);
  EXPECT_EQ(math::log(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_TRUE(std::isnan(math::log(NAN)));
}

TEST(Math, Tanh) {
  EXPECT_LE(worst(-100, 100, math::tanh, [](double x) { return std::tanh(x); }), 4);
  EXPECT_EQ(math::tanh(INFINITY), 1.0f);
  EXPECT_EQ(math::tanh(-INFINITY), -1.0f);
  EXPECT_TRUE(std::isnan(math::tanh(NAN)));
}

TEST(Math, Erf) {
  EXPECT_LE(worst(-100, 100, math::erf, [](double x) { return std::erf(x); }), 2);
  EXPECT_EQ(math::erf(INFINITY), 1.0f);
  EXPECT_EQ(math::erf(-INFINITY), -1.0f);
  EXPECT_TRUE(std::isnan(math::erf(NAN)));
}

TEST(Math, Sigmoid) {
  EXPECT_LE(worst(-87, 100, math::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }), 4);
  EXPECT_EQ(math::sigmoid(INFINITY), 1.0f);
  EXPECT_EQ(math::sigmoid(-INFINITY), 0.0f);
}

TEST(Math, SinCosNearZero) {
  const float twoPi = 6.2831853f;
  EXPECT_LE(worst(-twoPi, twoPi, math::sin, [](double x) { return std::sin(x); }), 2);
  EXPECT_LE(worst(-twoPi, twoPi, math::cos, [](double x) { return std::cos(x); }), 2);
}

TEST(Math, SinCosFar) {
  double error = 0;
  for (float x = -1e5f; x < 1e5f; x += 0.37f) {
    error = std::max(error, std::fabs(math::sin(x) - std::sin(double(x))));
    error = std::max(error, std::fabs(math::cos(x) - std::cos(double(x))));
  }
  EXPECT_LE(error, 1e-7);
}

// The same bits in a vectorized loop as one by one.
TEST(Math, VectorizedLoopsGiveTheSameBits) {
  constexpr int kCount = 1000;
  float x[kCount], vectorized[kCount];
  for (int i = 0; i < kCount; ++i)
    x[i] = (i - 500) * 0.0317f;
#pragma omp simd
  for (int i = 0; i < kCount; ++i)
    vectorized[i] = math::exp(x[i]) + math::tanh(x[i]) * math::erf(x[i]);
  for (int i = 0; i < kCount; ++i) {
    volatile float y = x[i];
    float one = y;
    EXPECT_EQ(vectorized[i], math::exp(one) + math::tanh(one) * math::erf(one)) << x[i];
  }
}
