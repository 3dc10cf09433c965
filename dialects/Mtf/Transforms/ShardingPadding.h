//===- ShardingPadding.h - padded sizes of dimensions ----------------------===//
//
// Every (name, size) has one padded size in a program: the least multiple of all its shard counts. Names that an op ties together
// (rename) share it. Where a dimension is split into parts or merged from them, padding the outermost part is padding the whole at its tail:
//
//   heads=25 pad 28, merged with head=64:   hidden=1600 pad 1792
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

  /// Notes the shard counts in `type`.
  void addType(NamedTensorType type);
  /// Notes which dimensions `op` ties together.
  void addOp(FactorOpInterface op);
  /// Finds the sizes; fails, with a message at the op, where a dimension would have to be padded inside.
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
  llvm::SmallVector<std::pair<mlir::Operation *, Key>> unpaddable;
};

} // namespace meshc::mtf

#endif
