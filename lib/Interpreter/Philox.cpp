//===- Philox.cpp - the random numbers' definition, in double --------------===//
#include "Philox.h"
#include <cmath>

using namespace meshc::interp;

std::array<uint32_t, 4> meshc::interp::philox(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter) {
  auto [x0, x1, x2, x3] = counter;
  for (int round = 0; round < 10; ++round) {
    uint64_t even = static_cast<uint64_t>(x0) * 0xD2511F53u, odd = static_cast<uint64_t>(x2) * 0xCD9E8D57u;
    x0 = static_cast<uint32_t>(odd >> 32) ^ x1 ^ key[0];
    x2 = static_cast<uint32_t>(even >> 32) ^ x3 ^ key[1];
    x1 = static_cast<uint32_t>(odd);
    x3 = static_cast<uint32_t>(even);
    key[0] += 0x9E3779B9u; // golden ratio
    key[1] += 0xBB67AE85u; // sqrt(3) - 1
  }
  return {x0, x1, x2, x3};
}

uint32_t meshc::interp::hashPath(llvm::StringRef path) {
  uint32_t hash = 2166136261u;
  for (unsigned char c : path)
    hash = (hash ^ c) * 16777619u;
  return hash;
}

uint32_t meshc::interp::mixRepeat(uint32_t word, uint32_t index) { return word * 0x9E3779B1u + index + 1; }

double meshc::interp::uniformOf(uint32_t word) { return ((word >> 9) + 0.5) / 8388608.0; }

double meshc::interp::normalOf(const std::array<uint32_t, 4> &words) {
  // 2 pi rounded to f32 is part of the definition.
  double turn = 6.28318548f * uniformOf(words[1]);
  return std::sqrt(-2 * std::log(uniformOf(words[0]))) * std::cos(turn);
}

bool meshc::interp::keepOf(uint32_t word, double probability) {
  return (word >> 1) < static_cast<uint32_t>(std::floor(probability * 2147483648.0 + 0.5));
}
