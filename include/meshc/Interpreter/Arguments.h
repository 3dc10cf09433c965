//===- Arguments.h - deterministic random arguments -------------*- C++ -*-===//
//
// Values for the arguments of a function of the program, the same at every level of it: they depend on the seed, on what the
// argument's attributes say it is (parameter, state, data, input) and on the element's global index, never on the type's sharding or
// on microbatches.
//
//  - floats: distinct, so that maxima and sorts have no ties; parameters in (-1, 1); optimizer states and float data in (0, 1)
//  - i32: below the smallest table or compared index the argument addresses, so that every index is valid
//  - `seed`, `step`, `total_steps`, `cotangent`: seed, 3, 10, 1
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_INTERPRETER_ARGUMENTS_H
#define MESHC_INTERPRETER_ARGUMENTS_H

#include "meshc/Interpreter/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::interp {

std::vector<Tensor> randomArguments(mlir::func::FuncOp function, uint64_t seed);

/// What the argument is called in reports: its parameter, state, data or input name, else `argN`.
std::string argumentName(mlir::func::FuncOp function, unsigned index);
/// Likewise for results: their `mtf.result`, else `resultN`.
std::string resultName(mlir::func::FuncOp function, unsigned index);

/// The number of valid indices of an i32 value, from the gathers, scatters and comparisons that use it; 0 if there are none.
int64_t indexRange(mlir::Value value);

/// A double in (0, 1) from a counter; a fixed function (SplitMix64).
double hashedUniform(uint64_t seed, uint64_t counter);

} // namespace meshc::interp

#endif
