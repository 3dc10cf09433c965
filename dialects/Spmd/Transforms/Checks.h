//===- Checks.h - parts of spmd-verify ---------------------------*- C++ -*-===//
#ifndef SPMD_TRANSFORMS_CHECKS_H
#define SPMD_TRANSFORMS_CHECKS_H

#include "Mtf/IR/Mtf.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::spmd {

/// Names of attributes of a function that some ranks only run: the program that it is a version of (a string), and the ranks.
inline constexpr llvm::StringLiteral kProgram = "spmd.program", kRanks = "spmd.ranks";

/// What types claim about padding follows from the operands, and what ops need is there.
mlir::LogicalResult verifyPadding(mlir::func::FuncOp function);

/// The function computes what it did when `spmd.meaning` was written, if it was.
mlir::LogicalResult verifyMeaning(mlir::func::FuncOp function);

/// Each rank runs one version of a program, and all versions issue the same collectives in the same order.
mlir::LogicalResult verifyVersions(mlir::ModuleOp module);

} // namespace meshc::spmd

#endif
