//===- Sharding.h - the algebra of shardings -------------------------------===//
//
// A sharding says, per mesh axis, what the ranks along the axis hold of a tensor:
//
//   split       the axis is in the list of one dimension: each rank holds a block of it
//   partial     each rank holds a summand; the tensor is the sum over the ranks
//   replicated  neither: every rank holds the same
//
// Example, mesh [data=2, model=4], x[batch=8, seq=16, embed=6]:
//
//   batch: (data)  seq: (model)      rank (d, m) holds x[4d .. 4d+3, 4m .. 4m+3, :]
//   batch: (data, model)             rank (d, m) holds x[4d + m, :, :]: the first axis is the most significant
//   batch: (model, data)             rank (d, m) holds x[2m + d, :, :]: the same sizes in other places
//
// Laws
//  1. An axis occurs once: in one list or among the partial axes.
//  2. A rank's part is one block of every dimension. So an axis is appended as the last (minor-most) of a list, and only the last is
//     taken off by a gather; taking off the first would leave strided parts.
//  3. `a` is a prefix of `b` in every list  <=>  `b` is obtained from `a` without communication, by slicing.
//  4. Sizes of parts are equal: dimensions are padded at the tail (ShardingPadding.h).
//
// Axes are numbers into the mesh here, sets of axes bit masks: propagation compares them all the time. Types spell them out;
// `shardingOf` and `applySharding` convert. Axes of size 1 do not exist for this file: they never appear in a sharding.
//
// Rejected: positions and orders of dimensions (Shardy's factor lists with strides) say more than blocks can use; a flat device
// assignment per tensor (GSPMD's tile assignment) grows with the number of ranks.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_TRANSFORMS_SHARDING_H
#define MTF_TRANSFORMS_SHARDING_H

#include "Mtf/IR/Mtf.h"

namespace meshc::mtf {

using Axis = uint8_t;
/// Axes that split one dimension, the most significant first.
using AxisList = llvm::SmallVector<Axis, 2>;
/// A set of axes as a bit mask; a mesh has at most 32.
using AxisSet = uint32_t;

inline AxisSet bit(Axis axis) { return AxisSet(1) << axis; }
inline AxisSet setOf(llvm::ArrayRef<Axis> axes) {
  AxisSet set = 0;
  for (Axis axis : axes)
    set |= bit(axis);
  return set;
}
inline bool isPrefix(llvm::ArrayRef<Axis> prefix, llvm::ArrayRef<Axis> list) {
  return prefix.size() <= list.size() && list.take_front(prefix.size()) == prefix;
}

/// The mesh with its axes as numbers.
class Mesh {
public:
  explicit Mesh(MeshAttr attr) : attr(attr) {}
  unsigned numAxes() const { return attr.getAxisNames().size(); }
  int64_t size(Axis axis) const { return attr.getAxisSizes()[axis]; }
  mlir::StringAttr name(Axis axis) const { return attr.getAxisNames()[axis]; }
  /// The axis called `name` if it splits anything: none for an unknown axis or one of size 1.
  std::optional<Axis> find(mlir::StringAttr name) const;
  int64_t shards(llvm::ArrayRef<Axis> axes) const;
  int64_t shards(AxisSet axes) const;
  AxisList axes(llvm::ArrayRef<mlir::StringAttr> names) const;
  llvm::SmallVector<mlir::StringAttr> names(llvm::ArrayRef<Axis> axes) const;
  AxisList list(AxisSet axes) const;
  MeshAttr getAttr() const { return attr; }

private:
  MeshAttr attr;
};

/// The sharding of one tensor; `dims` in the order of the type's dimensions.
struct Sharding {
  llvm::SmallVector<AxisList, 4> dims;
  AxisSet partial = 0;
  ReductionKind kind = ReductionKind::Sum;

  explicit Sharding(size_t rank = 0) : dims(rank) {}
  /// Axes that split a dimension.
  AxisSet split() const;
  bool operator==(const Sharding &other) const {
    return dims == other.dims && partial == other.partial && (!partial || kind == other.kind);
  }
};

Sharding shardingOf(NamedTensorType type, const Mesh &mesh);
/// `type` with `sharding` in place of its own; padded sizes and padding state stay.
NamedTensorType applySharding(NamedTensorType type, const Sharding &sharding, const Mesh &mesh);

/// The function's argument that `value` is, perhaps converted to another element type or sliced by loops; null if it is something else.
/// These are the forms in which a parameter is stored; what a layer computes with is gathered from them.
mlir::BlockArgument storedArgument(mlir::Value value);

} // namespace meshc::mtf

#endif
