//===- ExpandCopies.h - copies and fills as kernels --------------------------------===//
#ifndef MESHC_TARGET_EXPANDCOPIES_H
#define MESHC_TARGET_EXPANDCOPIES_H

#include "mlir/IR/BuiltinOps.h"

namespace meshc::target {

/// Replaces every `rt.copy` and `rt.fill` by an `rt.kernel` that loads and stores, so that emitters have one way to print loops.
void expandCopies(mlir::ModuleOp module);

} // namespace meshc::target

#endif
