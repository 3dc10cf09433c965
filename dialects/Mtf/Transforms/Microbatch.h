//===- Microbatch.h - one microbatch of a function -------------------------===//
//
// The loss and its gradient are written for one microbatch: their batch dimension has that size. What they compute may still depend
// on where in the batch it lies: indices and random numbers count over the whole batch.
//
//   func @loss(%x [batch=4])                    func @loss(%x [batch=4], %micro [])
//     %i = index "batch"                   =>     %i = index "batch" offset %micro * 4
//     %s = reduce sum %x over ["batch"]           %s = reduce sum %x over ["batch"]
//
// Which dimensions lie along the batch follows from the factors of the ops: the batch dimension by name, and whatever ops tie to it
// under other names (rename, merge, split).
//
// The sum over the microbatches is the value for the whole batch only if the loss is linear past the sums over the batch; `verifySumOverBatch` proves it, as it would be proved for a mesh axis: a value is cut, or partial (a sum
// over microbatches is missing), or the same for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_TRANSFORMS_MICROBATCH_H
#define MTF_TRANSFORMS_MICROBATCH_H

#include "Mtf/IR/Mtf.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::mtf {

/// Appends an argument to `function`, the number of the microbatch (i32), and lets indices and random numbers along dimension `batch`
/// count from where that microbatch starts. An op that needs the batch in one piece and a parameter over the batch are errors.
mlir::LogicalResult numberMicrobatch(mlir::func::FuncOp function, mlir::StringAttr batch);

/// Succeeds if every result of `function` that does not have the batch dimension is a sum over parts of the batch. Results that do not
/// depend on the batch are errors, too, unless the function `countsItself`: a sum of weights may be the number of a microbatch's elements.
mlir::LogicalResult verifySumOverBatch(mlir::func::FuncOp function, mlir::StringAttr batch, bool countsItself = false);

} // namespace meshc::mtf

#endif
