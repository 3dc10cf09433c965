//===- ShardingRules.h - the layout's rules on a function's values ---------===//
//
// Rules apply in order; within one tensor an axis is used once; each rule whose dimension is present and whose axis is free appends
// the axis as that dimension's minor-most split:
//
//   embed -> cols;  heads, ff -> rows;  embed -> rows;  heads, ff -> cols       (weight-stationary, two dimensions)
//
//   w[embed, ff]         embed: (cols)         ff: (rows)
//   x[batch, seq, embed] embed: (cols, rows)
//   h[batch, seq, ff]    ff:    (rows, cols)
//
// Pins come before all rules and close the dimension. `state(optimizer) -> axis` appends the axis to the dimension of a state that
// needs least padding for it, of equal ones the largest, then the first by name; dimensions of loops are left whole.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_TRANSFORMS_SHARDINGRULES_H
#define MTF_TRANSFORMS_SHARDINGRULES_H

#include "ShardingGraph.h"
#include "llvm/ADT/BitVector.h"

namespace meshc::mtf {

class ShardingRules {
public:
  /// Checks the rules against the mesh; emits errors.
  static mlir::FailureOr<ShardingRules> create(mlir::ModuleOp module, const Mesh &mesh,
                                               const llvm::SmallDenseSet<mlir::StringAttr> &loopDims);

  /// Places every variable of `graph`. Fails on an impossible pin.
  mlir::LogicalResult apply(ShardingGraph &graph);

  /// True if a rule that speaks of `variable` names its dimension `dim`.
  bool hasRule(const Variable &variable, mlir::StringAttr dim) const;

  /// Warns of rules that found no tensor.
  void reportUnmatched() const;

private:
  bool concerns(const RuleAttr &rule, const Variable &variable) const;
  static bool matchesPath(RuleAttr rule, const Variable &variable);
  void applyRule(ShardingGraph &graph, Variable &variable, unsigned index);
  mlir::LogicalResult applyPins(ShardingGraph &graph, Variable &variable);
  void applyState(ShardingGraph &graph, Variable &variable, unsigned index);

  mlir::ModuleOp module;
  llvm::SmallVector<RuleAttr> rules;
  llvm::BitVector matched;
};

/// `m.mesh:3:1`, or an empty text where the place is unknown.
std::string describePlace(mlir::Location loc);

} // namespace meshc::mtf

#endif
