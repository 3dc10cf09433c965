//===- KernelBuilder.h - units of maps and reductions as rt.kernel -------------===//
//
// A kernel is built from what it stores: the value of each stored root is *pulled* through its expression down to buffers, constants and indices.
// What is needed once per outer index is emitted in the kernel's block, what is needed per element in row loops. Row loop number l holds the
// reductions and stores that depend on the results of loops 0 .. l - 1 at most. An element value needed in several loops is loaded
// again if it was stored, else computed again.
//
// A `View` says where in an expression we stand: for each dim of the value, the iteration dim or the i32 index to read it at. Renames, splits,
// merges, slices change the view and emit nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_CONVERSION_MTFTORT_KERNELBUILDER_H
#define MESHC_CONVERSION_MTFTORT_KERNELBUILDER_H

#include "Lowering.h"
#include "llvm/ADT/MapVector.h"

namespace meshc {
/// Where one dim of a value is read: along an iteration dim, or at an index into this rank's part. `global` is the index in the whole
/// dimension where it is known already (masks).
struct Place {
  mlir::StringAttr iteration;
  mlir::Value index;
  mlir::Value global;
};
using View = llvm::SmallDenseMap<mlir::StringAttr, Place, 4>;

/// Builds the body of one kernel (or mask).
class KernelBuilder {
public:
  KernelBuilder(Lowering &lowering, mlir::Block *body)
      : lowering(lowering), body(body), firstIn(body->getNumArguments()), outer(builderAt(body)) {}

  mlir::LogicalResult build(const Unit &unit);
  /// For masks: a body with the arguments (query, key, batch, head) that says whether `mask` holds there.
  void buildMask(mlir::Value mask, const AttendDims &dims);

  llvm::SmallVector<mlir::Value> ins;

private:
  /// The blocks belong to no op yet.
  mlir::OpBuilder builderAt(mlir::Block *block) const {
    mlir::OpBuilder builder(lowering.builder.getContext());
    builder.setInsertionPointToEnd(block);
    return builder;
  }
  mlir::OpBuilder &at() { return inRow ? *inRow : outer; }
  mlir::Value inArg(mlir::Value operand);
  mlir::Value load(mlir::Value buffer, const View &view, bool checked = false);
  mlir::Value indexOf(const Place &place);
  mlir::Value globalIndex(const Place &place, mtf::DimAttr dim);
  mlir::Value constant(double value, mlir::Type type);
  mlir::Value constantI32(int64_t value) { return constant(static_cast<double>(value), at().getI32Type()); }
  mlir::Value widen(mlir::Value value);

  mlir::Value pull(mlir::Value value, const View &view);
  mlir::Value pull(mlir::Value value);
  mlir::Value compute(mlir::Operation *op, const View &view);
  mlir::Value computeView(mlir::Operation *op, const View &view);
  mlir::Value computeRead(mlir::Operation *op, const View &view);
  mlir::Value computeElement(mlir::Operation *op, const View &view);
  mlir::Value arithmetic(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value compare(mtf::Predicate predicate, mlir::Value lhs, mlir::Value rhs);
  mlir::Value cast(mlir::Value value, mlir::Type from, mlir::Type to);
  mlir::Value random(mtf::RandomOp op, const View &view);
  View identity(mlir::Value value) const;
  bool isOuter(mlir::Value value) const { return (lowering.fusion.setOf(value) & rowDims).none(); }

  unsigned levelOf(mlir::Value value);
  mlir::Value reductionInput(mlir::Operation *op);
  void emitRow(unsigned level);
  void store(mlir::Value root);

  Lowering &lowering;
  mlir::Block *body;
  /// Arguments before the kernel's operands: a mask's indices.
  unsigned firstIn;
  mlir::OpBuilder outer;
  std::optional<mlir::OpBuilder> inRow;
  const Unit *unit = nullptr;
  DimSet rowDims;
  llvm::SmallDenseSet<mlir::Operation *> members;
  llvm::DenseMap<mlir::Value, mlir::Value> inArgs;
  llvm::MapVector<mlir::Value, mlir::Value> outArgs; // root -> block argument
  llvm::SmallDenseSet<mlir::Value> storedHere;
  llvm::DenseMap<mlir::Value, mlir::Value> outerValues, rowValues;
  llvm::DenseMap<mlir::Value, unsigned> levels;
  llvm::MapVector<mlir::Operation *, unsigned> reductions; // op -> level of its input
  mlir::Location loc = lowering.builder.getUnknownLoc();

  friend class Lowering;
};
} // namespace meshc

#endif
