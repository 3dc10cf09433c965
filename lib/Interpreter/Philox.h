//===- Philox.h - the random numbers' definition, in double -----*- C++ -*-===//
//
// Written from the comment of runtime/include/meshrt/philox.h and the paper (Salmon et al., SC 2011), not from its code.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_INTERPRETER_PHILOX_H
#define MESHC_LIB_INTERPRETER_PHILOX_H

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>

namespace meshc::interp {

/// Philox4x32 with 10 rounds.
std::array<uint32_t, 4> philox(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter);

/// FNV-1a, 32 bits.
uint32_t hashPath(llvm::StringRef path);

/// The counter's word of the enclosing loops, one more index mixed in.
uint32_t mixRepeat(uint32_t word, uint32_t index);

double uniformOf(uint32_t word);
double normalOf(const std::array<uint32_t, 4> &words);
bool keepOf(uint32_t word, double probability);

} // namespace meshc::interp

#endif
