//===- ScalarOps.h - arith and math ops as C++ expressions ----------------------===//
#ifndef MESHC_TARGET_SCALAROPS_H
#define MESHC_TARGET_SCALAROPS_H

#include "meshc/Target/Expr.h"
#include "mlir/IR/Operation.h"

namespace meshc::target {

/// The C++ type of a scalar: f32 `float`, bf16 `bf16`, f64 `double`, i32 `int32_t`, i64 and index `int64_t`, i1 `bool`.
/// Empty for a type that emitted programs do not have.
llvm::StringRef cppType(mlir::Type type);

/// The runtime's name of an element type: `F32`, `BF16`, `F64`, `I32`, `I1`.
llvm::StringRef elementTypeName(mlir::Type type);

/// `op` applied to `operands`, or nullopt if it is no arith or math op that C++ has. The transcendental functions are those of
/// runtime/include/meshrt/math.h, which have the same bits on every target.
std::optional<Expr> scalarExpr(mlir::Operation *op, llvm::ArrayRef<Expr> operands);

/// The literal for a constant attribute.
Expr literal(mlir::Attribute value);

} // namespace meshc::target

#endif
