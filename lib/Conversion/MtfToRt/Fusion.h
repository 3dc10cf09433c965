//===- Fusion.h - which ops become one kernel, which values are stored --------===//
//
// The ops of a block are partitioned into *units*: kernels of maps and reductions, or single library ops (dot, attend, repeat,
// collectives). Every value is one of
//
//   stored    it gets a buffer: library ops, other regions or several kernels use it;
//   virtual   it is computed again in each kernel that uses it, from what is stored;
//   internal  one kernel alone computes and uses it.
//
// A kernel iterates over a set D of dims. Each op in it is at *element* level (its dims are D) or at *outer* level (its dims are D without the row
// dims R, over which the kernel's reductions go). Example, layer norm of x[batch, seq, embed], D = {batch, seq, embed}, R = {embed}:
//
//   sum  = reduce sum x over embed        reduction      -> outer
//   mean = sum / 768                      outer
//   d    = x - mean                       element
//   ...  = d * rstd * gain + bias         element, stored
//
// A reduction whose kept dims include the innermost one in memory (gradients of biases and gains), or that keeps none, makes a kernel without element ops:
// the values that it reduces are loaded or virtual.
//
// Laws
//  - Units and their dependencies form no cycle: two units merge only if no path between them leaves and returns.
//  - *Free* values (functions of indices, constants, random keys and few scalars) belong to no unit unless they must be stored.
//  - A stored value is written once, by one unit.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_CONVERSION_MTFTORT_FUSION_H
#define MESHC_CONVERSION_MTFTORT_FUSION_H

#include "MemoryOrders.h"
#include <bitset>

namespace meshc {

using DimSet = std::bitset<256>;

struct Unit {
  llvm::SmallVector<mlir::Operation *> ops;
  bool isKernel = false;
  /// Kernels: iteration dims and, if there are two levels, row dims.
  DimSet dims, row;
  /// Whether the row dims are reduced over; else they are only what the larger of two kinds of ops has more.
  bool reduces = false;
  /// A reduction that takes no element ops: see above.
  bool reductionOnly = false;
  /// Local sizes. One name has several where a dim is split in one value and whole in another, or loops of two lengths share it.
  llvm::SmallDenseMap<mlir::StringAttr, int64_t> sizes;
};

class Fusion {
public:
  Fusion(mlir::func::FuncOp function, const MemoryOrders &orders);

  bool isStored(mlir::Value value) const { return stored.contains(value); }
  bool isFree(mlir::Value value) const;
  /// The units of a block in the order of execution.
  llvm::ArrayRef<Unit> unitsOf(mlir::Block *block) const { return schedule.find(block)->second; }
  /// Names of the dims in a set, outermost first, in the order of values in general.
  llvm::SmallVector<mlir::StringAttr> names(const DimSet &set) const;
  DimSet setOf(mlir::Value value) const;

private:
  struct Build;
  DimSet setOf(mlir::ArrayAttr names) const;
  unsigned number(mlir::StringAttr name) const;
  void markFree(mlir::Block &block);
  void markRequired(mlir::Block &block);
  void planBlock(mlir::Block &block);

  const MemoryOrders &orders;
  mutable llvm::DenseMap<mlir::StringAttr, unsigned> numbers;
  mutable llvm::SmallVector<mlir::StringAttr> byNumber;
  llvm::DenseMap<mlir::Value, unsigned> freeCost;
  llvm::DenseSet<mlir::Value> stored;
  llvm::DenseMap<mlir::Block *, std::vector<Unit>> schedule;
};

/// Ops that a kernel can compute element by element.
bool isFusable(mlir::Operation *op);
/// Reductions (also fold, which sums over windows): the dims reduced over, else null.
mlir::ArrayAttr reducedDims(mlir::Operation *op);
/// Dims moved under other names or places without a change of elements: rename, split, merge, slice, spmd.slice.
bool isViewLike(mlir::Operation *op);
/// Rough work per element, in additions.
unsigned workOf(mlir::Operation *op);
/// Whether a kernel reads this operand at computed places, so that it must be in memory before the kernel.
bool readsAtIndex(mlir::OpOperand &operand);

} // namespace meshc

#endif
