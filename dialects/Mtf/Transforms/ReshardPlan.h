//===- ReshardPlan.h - the cheapest collectives between two shardings ------===//
//
//   from  [batch: (data), seq: (model)]         plan: all_to_all model, seq -> embed
//   to    [batch: (data), embed: (model)]
//
//   from  [batch: (data)] partial over model    plan: reduce_scatter model -> seq
//   to    [batch: (data), seq: (model)]
//
// The plan is a shortest path (Dijkstra) over shardings; edges are the collectives of the spmd dialect, each of which respects the laws
// of Sharding.h, weighed by the bytes a rank receives plus a constant for the start. What both shardings split alike, outermost, is
// left alone, so the graph stays small: its size depends on the axes that change, not on the mesh's size.
// An intermediate above twice the larger end is taken only if nothing else leads to the goal.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_TRANSFORMS_RESHARDPLAN_H
#define MTF_TRANSFORMS_RESHARDPLAN_H

#include "Sharding.h"

namespace meshc::mtf {

struct ReshardStep {
  enum Kind { AllReduce, ReduceScatter, AllGather, AllToAll, Permute, Slice, Unreduce };
  Kind kind;
  AxisList axes;
  int from = -1; ///< Dimension that loses the axes: all_gather, all_to_all.
  int to = -1;   ///< Dimension that gains them: reduce_scatter, all_to_all, slice.
  Sharding after;
};

struct ReshardPlan {
  llvm::SmallVector<ReshardStep, 2> steps;
  /// Bytes that each rank receives.
  int64_t bytes = 0;
  /// `bytes` and the starts of the steps, in bytes of equal duration.
  int64_t cost = 0;
  /// The largest intermediate, in bytes on one rank.
  int64_t peakBytes = 0;
};

/// What starting one collective costs, as the number of bytes sent in the same time.
inline constexpr int64_t kCollectiveStart = 4096;

/// Bytes of one rank's part; sizes that do not divide are rounded up.
int64_t partBytes(NamedTensorType type, const Sharding &sharding, const Mesh &mesh);

/// The cheapest plan for a value with the sizes and element of `type`. `exact`: intermediate parts must have equal sizes given the
/// padded sizes in `type`; otherwise padding is not known yet and the plan is an estimate.
ReshardPlan planReshard(NamedTensorType type, const Sharding &from, const Sharding &to, const Mesh &mesh, bool exact);

} // namespace meshc::mtf

#endif
