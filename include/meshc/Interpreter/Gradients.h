//===- Gradients.h - gradients against finite differences -------*- C++ -*-===//
#ifndef MESHC_INTERPRETER_GRADIENTS_H
#define MESHC_INTERPRETER_GRADIENTS_H

#include "meshc/Interpreter/Interpreter.h"

namespace meshc::interp {

struct GradientCheck {
  /// Elements of each parameter that are moved one at a time; small parameters are checked whole.
  int64_t samples = 12;
  /// Directions in which all of a parameter moves at once.
  int64_t directions = 2;
  /// Largest allowed |difference| relative to the largest gradient of the parameter, or to a hundredth of that of all parameters
  /// where it is larger: what cancels to almost zero keeps the rounding of what it cancelled from.
  double tolerance = 1e-6;
  uint64_t seed = 1;
};

/// Central differences of fourth order, which leave about 1e-11 of a smooth f in double:
/// f'(0) = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h.
mlir::FailureOr<double> derivative(llvm::function_ref<mlir::FailureOr<double>(double)> f, double step = 1e-3);

/// Compares each gradient that `gradient` returns (results after the first `loss` has results, one per argument that is an
/// `mtf.param`, in order) with differences of the first result of `loss`. Arguments are those of `loss`; `gradient` takes the
/// cotangent, 1, after them. Reports the first parameter that is wrong at `gradient` and prints one line per parameter to `os`.
mlir::LogicalResult checkGradients(mlir::ModuleOp module, mlir::func::FuncOp loss, mlir::func::FuncOp gradient,
                                   llvm::ArrayRef<Tensor> arguments, const GradientCheck &options, llvm::raw_ostream &os);

} // namespace meshc::interp

#endif
