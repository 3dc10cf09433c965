//===- Residuals.h - what a loop keeps for its derivative ------------------===//
//
// The backward loop wants values that the forward loop's body computed. Each can be kept (one more stacked output, memory times the
// trip count) or recomputed in the backward body from others. What is kept is a minimum cut of
//
//   flopsPerByte x bytes kept + operations repeated
//
// Cheap ops (elementwise maps, moved or repeated elements, indices, random numbers) are fused into their users and cost nothing to repeat; a
// value that would be written to memory only to be kept counts a quarter more. So with a rate of 0, where only cheap ops are repeated,
//
//   h = dot(x, w); u = 0.79 (h + 0.04 h^3); t = tanh(u); y = 0.5 h (1 + t)     the backward loop wants h, u, t, y: only h is kept
//   m = index(mem) <= index(seq)                                               a pure function of indices: nothing is kept
//
// Cuts of larger rates keep less and repeat more, from an attention's scores (half the head's size in operations per byte) over softmax (the
// time of reading it) to matrix products (half the size that they sum over) and sums, which are small. Slices of the loop's inputs and values from around it are there
// anyway and cost nothing.
//
// Selective recomputation is Korthikanti et al. 2022, the cut as a minimum cut Chen et al. 2016 and PyTorch's partitioner.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_TRANSFORMS_RESIDUALS_H
#define MTF_TRANSFORMS_RESIDUALS_H

#include "Mtf/IR/Mtf.h"
#include "llvm/ADT/SetVector.h"

namespace meshc::mtf {

/// Operations worth repeating to keep one byte less. `selective` repeats an attention that is written out (scores, softmax, their
/// dropout), as Megatron-LM does, but no product over a model's width.
constexpr double kRecomputeNone = 0, kRecomputeSelective = 160, kRecomputeFull = 0x1p24;

/// Bytes of the whole value.
int64_t bytesOf(mlir::Value value);

/// Operations of computing `op` again, reading its operands included: 0 for a cheap one, infinite for one that cannot be.
double recomputeWork(mlir::Operation *op);

/// The cheapest set of values of `body` (of equal ones the one that recomputes least) from which all of `wanted` can be computed, given
/// `free` values of the body and everything outside.
llvm::SetVector<mlir::Value> chooseResiduals(mlir::Block &body, const llvm::SetVector<mlir::Value> &wanted,
                                             const llvm::DenseSet<mlir::Value> &free, double flopsPerByte);

} // namespace meshc::mtf

#endif
