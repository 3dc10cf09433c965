//===- Accesses.h - who reads and writes a buffer ---------------------------===//
#ifndef RT_TRANSFORMS_ACCESSES_H
#define RT_TRANSFORMS_ACCESSES_H

#include "Rt/IR/Rt.h"

namespace meshc::rt {

/// An op that reads or writes a buffer, or a view of it, through one operand.
struct Access {
  mlir::Operation *op;
  mlir::OpOperand *operand;
  bool reads = false, writes = false;
};

/// All accesses to the memory that `root` (an alloc or global) names, through any view. Ops inside kernels are part of the kernel.
llvm::SmallVector<Access> accessesOf(mlir::Value root);

/// The accesses' ops as ops of `block` (the loop around one that is deeper), first and last in order.
struct Span {
  mlir::Operation *first = nullptr, *last = nullptr;
};
Span spanIn(mlir::Block *block, llvm::ArrayRef<Access> accesses);

/// Whether two buffers start at the same element with the same type: one value, or equal views of one root.
bool isSamePlace(mlir::Value a, mlir::Value b);

} // namespace meshc::rt

#endif
