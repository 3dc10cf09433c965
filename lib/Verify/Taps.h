//===- Taps.h - taps on the values that the user named ----------*- C++ -*-===//
#ifndef MESHC_LIB_VERIFY_TAPS_H
#define MESHC_LIB_VERIFY_TAPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc {

/// Puts an `mtf.tap` on each value of `function` that has a name of the user's, so that every one of them is compared. A name that
/// occurs again (a function expanded twice) becomes `name#2`.
void tapNamedValues(mlir::func::FuncOp function);

} // namespace meshc

#endif
