//===- Meaning.h - what a program computes, whatever its sharding ----------===//
//
// A layout changes where a computation happens, never what it computes. So if types forget shardings, and reshards, collectives, fills of
// padding and taps are taken for the identity that they are on global values, every pass from `mtf-partition` on leaves the same expressions.
// `meaningOf` numbers them: one hash per result of a function, of the ops, attributes and arguments that it depends on. It does not change
// when equal ops are merged, unused ones dropped, ops moved, or collectives placed elsewhere; it does when a factor, an operand or the
// number of iterations of a loop changes.
//
//   func.func @train_step(...) -> (...) attributes {spmd.meaning = array<i32: 0x2f6b10aa, ...>}
//
// `mtf-partition` writes the attribute, `spmd-verify` compares.
//
//===----------------------------------------------------------------------===//
#ifndef SPMD_IR_MEANING_H
#define SPMD_IR_MEANING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::spmd {

inline constexpr llvm::StringLiteral kMeaning = "spmd.meaning";

/// One hash per result of `function`, which has a body.
llvm::SmallVector<int32_t> meaningOf(mlir::func::FuncOp function);

/// Writes the attribute.
void recordMeaning(mlir::func::FuncOp function);

} // namespace meshc::spmd

#endif
