//===- Lowering.h - a function on its way to buffers ---------------------------===//
#ifndef MESHC_CONVERSION_MTFTORT_LOWERING_H
#define MESHC_CONVERSION_MTFTORT_LOWERING_H

#include "Fusion.h"

namespace meshc {

/// The roles of attention's dims; see rt.attend.
struct AttendDims {
  llvm::SmallVector<mlir::StringAttr> batch, heads, groups, query, mem, head, value;
  /// Local sizes.
  llvm::SmallDenseMap<mlir::StringAttr, int64_t> sizes;
};

/// Lowers one function into the body of one rt.step.
///
/// `buffers` has the buffer of every stored value lowered so far. A buffer is written by the unit of its value alone, so a value's buffer
/// holds the value from then on; carries of loops are the exception, their buffers change at the end of the body.
class Lowering {
public:
  Lowering(mlir::OpBuilder &builder, mlir::func::FuncOp function, const MemoryOrders &orders, const Fusion &fusion)
      : builder(builder), orders(orders), fusion(fusion), mesh(mtf::MeshAttr::of(function)) {}

  mlir::LogicalResult lowerBlock(mlir::Block &block);

  void setBuffer(mlir::Value value, mlir::Value buffer) { buffers[value] = buffer; }
  mlir::Value bufferOf(mlir::Value value) const { return buffers.lookup(value); }
  /// A new buffer, under the name that `loc` carries.
  mlir::Value allocate(rt::BufferType type, mlir::Location loc);

private:
  friend class KernelBuilder;

  // Kernels.cpp
  mlir::LogicalResult lowerKernel(const Unit &unit);
  /// Fills the mask region of an attend; returns the buffers it reads.
  llvm::SmallVector<mlir::Value> buildMask(mlir::Value mask, mlir::Region &region, const AttendDims &dims);

  // Products.cpp
  mlir::LogicalResult lowerDot(mtf::DotOp op, mlir::Value target, bool accumulate);

  // Attention.cpp
  template <typename OpTy>
  AttendDims attendDims(OpTy op) const;
  void lowerAttend(mtf::AttendOp op);
  void lowerAttendGrad(mtf::AttendGradOp op);

  // Views.cpp
  void lowerView(mlir::Operation *op);
  void lowerConcat(mtf::ConcatOp op);
  void lowerStack(mtf::StackOp op);

  // Library.cpp
  mlir::LogicalResult lowerLibrary(const Unit &unit);
  mlir::LogicalResult lowerAccumulation(mtf::AddOp add, mlir::Operation *accumulated);
  void lowerScatterAdd(mtf::ScatterAddOp op, mlir::Value target);
  void lowerTopK(mtf::TopKOp op);
  mlir::Value writtenAs(rt::BufferType type, mlir::Value target, mlir::Location loc);
  void copyBack(mlir::Value written, mlir::Value target, mlir::Location loc);
  mlir::LogicalResult lowerRepeat(mtf::RepeatOp op);
  mlir::LogicalResult lowerCollective(mlir::Operation *op);

  /// A buffer of its own for the op's result, in the result's order.
  mlir::Value define(mlir::Value result);
  /// `buffer` if it has this type, else a copy that has.
  mlir::Value inOrder(mlir::Value buffer, rt::BufferType type, mlir::Location loc);

  int64_t localSize(mtf::DimAttr dim) const { return mesh.localSize(dim); }
  /// Memory of one of the `parts` of a merged dimension; the padding of an inner part has no place in the whole.
  int64_t partSize(mtf::NamedTensorType fine, mlir::ArrayAttr parts, mlir::StringAttr part) const;

  mlir::OpBuilder &builder;
  const MemoryOrders &orders;
  const Fusion &fusion;
  mtf::MeshAttr mesh;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  /// i32 values of the loops' indices.
  llvm::DenseMap<mlir::Value, mlir::Value> loopIndices;
};

/// Indices start, start + step, ... (`count` of them) along `dim` of a buffer, as a view; without the dim if `count` is 0.
mlir::Value cut(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer, mlir::StringAttr dim, int64_t start, int64_t count, int64_t step = 1);

} // namespace meshc

#endif
