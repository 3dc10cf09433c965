//===- Compare.h - where two values differ ----------------------*- C++ -*-===//
#ifndef MESHC_INTERPRETER_COMPARE_H
#define MESHC_INTERPRETER_COMPARE_H

#include "meshc/Interpreter/Interpreter.h"
#include <optional>

namespace meshc::interp {

/// The first element at which two tensors differ.
struct Difference {
  llvm::SmallVector<int64_t> index;
  double expected, actual;
};

/// Compares element by element: |a - b| <= tolerance * (largest magnitude in the tensors, at least 1e-3), infinities and NaNs exactly.
/// The scale is the tensor's because sums taken in another order differ by what was summed, not by what is left of it; a tensor that is
/// all zero but for rounding (the gradient of a key's bias) is what the bound of 1e-3 is for.
std::optional<Difference> firstDifference(const Tensor &expected, const Tensor &actual, double tolerance);

/// Of the finite elements.
double largestMagnitude(const Tensor &tensor);

/// `[batch=1, seq=0]: expected 0.25, got 0.5`.
std::string describe(const Difference &difference, const Tensor &tensor);

/// One line with a checksum and the first elements, the same for values that agree to about 1e-7:
/// `[batch=2, seq=3] norm 1.53214 moment 2.2371 first 0.1 -0.25 1 0`.
std::string summarize(const Tensor &tensor);

} // namespace meshc::interp

#endif
