//===- Residuals.h - what a loop keeps for its derivative ------------------===//
//
// The backward loop wants values that the forward loop's body computed. Each can be kept (one more stacked output, memory times the
// trip count) or recomputed in the backward body from others. Recomputing is for cheap ops only: elementwise maps, moved or repeated
// elements, indices, random numbers. Within that, what is kept is a minimum cut, in bytes (a quarter more for values that would be
// written to memory for this purpose only):
//
//   h = dot(x, w); u = 0.79 (h + 0.04 h^3); t = tanh(u); y = 0.5 h (1 + t)     the backward loop wants h, u, t, y: only h is kept
//   m = index(mem) <= index(seq)                                               a pure function of indices: nothing is kept
//
// Slices of the loop's inputs and values from around it are there anyway and cost nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_TRANSFORMS_RESIDUALS_H
#define MTF_TRANSFORMS_RESIDUALS_H

#include "Mtf/IR/Mtf.h"
#include "llvm/ADT/SetVector.h"

namespace meshc::mtf {

/// True if computing `op` again costs no more than about a pass over its result.
bool isCheap(mlir::Operation *op);

/// The cheapest set of values of `body` (of equal ones the one that recomputes least) from which all of `wanted` can be computed by cheap ops, given
/// `free` values of the body and everything outside.
llvm::SetVector<mlir::Value> chooseResiduals(mlir::Block &body, const llvm::SetVector<mlir::Value> &wanted,
                                             const llvm::DenseSet<mlir::Value> &free);

} // namespace meshc::mtf

#endif
