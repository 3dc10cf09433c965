//===- PaddingState.h - what the padding of values holds -------------------===//
#ifndef MTF_TRANSFORMS_PADDINGSTATE_H
#define MTF_TRANSFORMS_PADDINGSTATE_H

#include "Mtf/IR/Mtf.h"

namespace meshc::mtf {

inline bool isPadded(NamedTensorType type) {
  return llvm::any_of(type.getDims(), [](DimAttr dim) { return dim.isPadded(); });
}

/// What the padding of each value is known to hold; undefined where nothing is padded or known.
class PaddingStates {
public:
  Padding of(mlir::Value value) const {
    auto it = states.find(value);
    return it == states.end() ? Padding::Undefined : it->second;
  }
  void set(mlir::Value value, Padding padding);

  /// States of the results of `op` from those of its operands. Not for loops.
  void transfer(mlir::Operation *op);
  Padding transferResult(mlir::Operation *op, mlir::Value result) const;

  /// What the padding of an operand must hold for the op to be right; none if anything will do.
  std::optional<Padding> requirement(mlir::OpOperand &use) const;

  /// Puts the state into the value's type.
  void write(mlir::Value value) const;

private:
  /// The number that `operand` has wherever a result of type `result` has padding, if one is known.
  std::optional<double> valueInPadding(mlir::Value operand, NamedTensorType result) const;
  Padding elementwise(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, Padding> states;
};

} // namespace meshc::mtf

#endif
