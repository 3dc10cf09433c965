//===- ShardingPropagation.h - where ops execute, and inference ------------===//
#ifndef MTF_TRANSFORMS_SHARDINGPROPAGATION_H
#define MTF_TRANSFORMS_SHARDINGPROPAGATION_H

#include "ShardingGraph.h"
#include "ShardingRules.h"

namespace meshc::mtf {

/// Gives every node its axes and every open variable what follows from the ops around it, to a fixed point. Independent of the order
/// of operands; of conflicting inferences the one that agrees with more bytes wins, then the dimension's name.
void propagate(ShardingGraph &graph, const ShardingRules &rules);

/// Decides which sums stay partial until later, as late and as small as is cheapest. Result: the axes over which each value is
/// partial when it is made, and the axes over which each use takes it so.
struct PartialPlacement {
  llvm::DenseMap<mlir::Value, AxisSet> made;
  llvm::DenseMap<mlir::OpOperand *, AxisSet> taken;
};
/// Also sets `Node::kept`.
PartialPlacement placePartials(ShardingGraph &graph);

} // namespace meshc::mtf

#endif
