//===- ShardingPadding.h - padded sizes of dimensions ----------------------===//
//
// Every (name, size) has one padded size in a program: the least multiple of all its shard counts. Names that an op ties together
// (rename) share it. Where a dimension is split into parts or merged from them, padding the outermost part is padding the whole at its tail:
//
//   heads=25 pad 28, merged with head=64:   hidden=1600 pad 1792
//
// An inner part cannot be padded, so it is split only where its size divides (`mayPad`).
//
//===----------------------------------------------------------------------===//
#ifndef MTF_TRANSFORMS_SHARDINGPADDING_H
#define MTF_TRANSFORMS_SHARDINGPADDING_H

#include "Sharding.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace meshc::mtf {

class PaddedSizes {
public:
  explicit PaddedSizes(const Mesh &mesh) : mesh(mesh) {}

  /// Notes which dimensions `op` ties together. Before all types.
  void addOp(FactorOpInterface op);
  /// False for an inner part of a split or merged dimension: padding it would be padding inside the whole.
  bool mayPad(mlir::StringAttr name, int64_t size) const;
  /// Notes the shard counts in `type`.
  void addType(NamedTensorType type);
  /// Finds the sizes; fails, with a message at the op, where two ways to split a padded dimension contradict each other.
  mlir::LogicalResult solve();
  NamedTensorType apply(NamedTensorType type) const;

private:
  using Key = unsigned;
  Key key(DimAttr dim);

  struct Compound {
    Key outer, whole;
    int64_t inner; ///< Size of the whole over size of the outermost part.
    mlir::Operation *op;
  };

  const Mesh &mesh;
  llvm::MapVector<std::pair<mlir::StringAttr, int64_t>, Key> keys;
  llvm::EquivalenceClasses<Key> classes;
  llvm::SmallVector<int64_t> multiples; ///< Per key; valid at the leader.
  llvm::SmallVector<int64_t> padded;    ///< Per key, after `solve`.
  llvm::SmallVector<Compound> compounds;
  llvm::SmallVector<Key> unpaddable;
};

} // namespace meshc::mtf

#endif
