//===- RandomProgram.h - well-formed random programs ------------*- C++ -*-===//
#ifndef MESHC_TOOLS_RANDOMPROGRAM_H
#define MESHC_TOOLS_RANDOMPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// A level 1 program that is a function of `seed`: a mesh of up to 8 ranks, a layout of random rules, parameters, float and
/// index data, and @loss over a random graph of ops, every value tapped. Sizes are small, some of them 1, some not divisible by
/// any axis. Values stay of moderate size, so that float64 results can be compared tightly.
mlir::OwningOpRef<mlir::ModuleOp> randomProgram(mlir::MLIRContext &context, uint64_t seed);

} // namespace meshc

#endif
