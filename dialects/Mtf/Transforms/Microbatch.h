//===- Microbatch.h - one microbatch of a function -------------------------===//
//
// A function over the whole batch becomes one over a part of it. Which dimensions that cuts follows from the factors of the ops: the
// batch dimension by name, and whatever ops tie to it under other names (rename, merge, split).
//
//   func @loss(%x [batch=8])                    func @loss(%x [batch=4], %micro [])
//     %i = index "batch" [batch=8]         =>     %i = index "batch" offset %micro * 4 [batch=4]
//     %s = reduce sum %x over ["batch"]           %s = reduce sum %x over ["batch"]
//
// The sum over the microbatches of what the new function returns is what the old one returned only if the loss is linear past the
// sums over the batch; `verifySumOverBatch` proves it, as it would be proved for a mesh axis: a value is cut, or partial (a sum
// over microbatches is missing), or the same for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_TRANSFORMS_MICROBATCH_H
#define MTF_TRANSFORMS_MICROBATCH_H

#include "Mtf/IR/Mtf.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::mtf {

/// Rewrites `function` to work on one of `count` parts of dimension `batch` and appends an argument, the part's number (i32).
/// An op that needs the batch in one piece, a size that `count` does not divide and a parameter over the batch are errors.
mlir::LogicalResult cutIntoMicrobatches(mlir::func::FuncOp function, mlir::StringAttr batch, int64_t count);

/// Succeeds if every result of `function` that does not have the batch dimension is a sum over parts of the batch. `what` names
/// the function in errors.
mlir::LogicalResult verifySumOverBatch(mlir::func::FuncOp function, mlir::StringAttr batch, llvm::StringRef what);

} // namespace meshc::mtf

#endif
