//===- Prepare.h - rewrites on mtf before buffers appear ----------------------===//
#ifndef MESHC_CONVERSION_MTFTORT_PREPARE_H
#define MESHC_CONVERSION_MTFTORT_PREPARE_H

#include "Mtf/IR/Mtf.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc {

/// Brings a function into the form that fusion and lowering know:
///  - taps and stop_gradients are gone,
///  - logsumexp, softmax and argmax are maps and reductions,
///  - a scatter sums only over dims of its indices,
///  - a sum with a stacked result of a loop is inside the loop, on the slice (see sinkAccumulations),
///  - unused ops are gone.
void prepareForBuffers(mlir::func::FuncOp function);

/// Whether `value` is a product or a scatter that this add alone uses, so that it can be accumulated in place: the `add` of
///   %s = mtf.add %acc, %value
bool accumulates(mlir::Value value);

/// The operand of `add` that is accumulated onto the other, or none. The other must be free to overwrite: an
/// accumulated value itself, or a loop's argument used nowhere else.
std::optional<unsigned> accumulatedOperand(mtf::AddOp add);

} // namespace meshc

#endif
