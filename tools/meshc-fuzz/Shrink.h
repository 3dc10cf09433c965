//===- Shrink.h - the smallest program that still fails ---------*- C++ -*-===//
#ifndef MESHC_TOOLS_SHRINK_H
#define MESHC_TOOLS_SHRINK_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// Takes ops, loops, parameters, data, rules and mesh axes away from `program`, and makes dims smaller, as long as `fails` holds. A value is
/// replaced by an operand of its type or by new data.
mlir::OwningOpRef<mlir::ModuleOp> shrinkProgram(mlir::ModuleOp program, llvm::function_ref<bool(mlir::ModuleOp)> fails);

} // namespace meshc

#endif
