//===- MemoryOrders.h - the order of every value's dims in memory ------------===//
//
// Values that are combined elementwise, carried, sliced from one another or the gradient of one another form a *class* and get one order,
// so that the kernels between them walk memory in one direction.
//
//   - A class with a parameter takes the parameter's order in files (repeats' dims first), so that gradients and optimizer states
//     lie like the parameter.
//   - Every other class: dims of loops, then the batch dim, then as declared, then by name.
//
// Why this makes dots plain matrix products: all activations share one order, so the dims that a dot keeps from one operand (batch, seq) and those
// it contracts (heads, head) are adjacent in both operands. Where they are not, the lowering of the dot loops or copies.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_CONVERSION_MTFTORT_MEMORYORDERS_H
#define MESHC_CONVERSION_MTFTORT_MEMORYORDERS_H

#include "Mtf/IR/Mtf.h"
#include "Rt/IR/Rt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace meshc {

class MemoryOrders {
public:
  explicit MemoryOrders(mlir::func::FuncOp function);

  /// The dims of `value`, outermost first.
  llvm::SmallVector<mtf::DimAttr> order(mlir::Value value) const;
  /// A row-major buffer for `value` in its order, with local sizes.
  rt::BufferType bufferType(mlir::Value value) const;
  int64_t localSize(mtf::DimAttr dim) const { return mesh.localSize(dim); }
  /// Sorts names by the order for values in general.
  void sort(llvm::SmallVectorImpl<mlir::StringAttr> &names) const;

private:
  void collect(mlir::Block &block);
  void join(mlir::Value a, mlir::Value b);
  unsigned rank(mlir::StringAttr name) const;

  mtf::MeshAttr mesh;
  llvm::DenseMap<mlir::StringAttr, unsigned> ranks;
  llvm::EquivalenceClasses<void *> classes;
  /// Preferred order by the class's leader.
  llvm::DenseMap<void *, mlir::ArrayAttr> preferred;
};

/// The constant that `value` holds everywhere, or null.
mtf::ConstantOp splatOf(mlir::Value value);

} // namespace meshc

#endif
