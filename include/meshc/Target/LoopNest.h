//===- LoopNest.h - the loops of a kernel -----------------------------------------===//
//
// A kernel iterates over named dims, each buffer has its own strides. Neighbouring dims run as one loop where memory allows:
//
//   outer [batch=4, seq=256] row [embed=768], x[batch, seq, embed], gain[embed]
//     outer: one loop of 1024 "rows", row: one loop over embed
//   the same with wpe[seq, embed] in it: batch and seq stay apart, because wpe lacks batch
//
// Two neighbours fuse if every access either has both, the first one's stride being the second's times its size, or neither, and
// if nothing asks for the index along one of them.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TARGET_LOOPNEST_H
#define MESHC_TARGET_LOOPNEST_H

#include "Rt/IR/Rt.h"
#include <string>

namespace meshc::target {

/// Dims that run as one loop; not empty.
struct Loop {
  llvm::SmallVector<rt::DimAttr> dims;

  int64_t size() const {
    int64_t size = 1;
    for (rt::DimAttr dim : dims)
      size *= dim.getSize();
    return size;
  }
  /// The innermost dim, whose stride is the loop's.
  rt::DimAttr inner() const { return dims.back(); }
  bool has(mlir::StringAttr name) const {
    return llvm::any_of(dims, [&](rt::DimAttr dim) { return dim.getName() == name; });
  }
};

/// The loops of a kernel. Dims of size 1 have none.
struct LoopNest {
  explicit LoopNest(rt::KernelOp kernel);

  llvm::SmallVector<Loop> outer, row;
};

/// The dims along which a load or store moves with the iteration: those of the buffer without the ones `at` replaces.
bool followsDim(mlir::Operation *access, mlir::StringAttr dim);

/// The buffer that a load or store accesses.
mlir::Value bufferOf(mlir::Operation *access);

/// Its type.
rt::BufferType accessedType(mlir::Operation *access);

/// Elements that the access moves when the loop's index grows by one; 0 if it stays.
int64_t strideAlong(mlir::Operation *access, const Loop &loop);

/// Whether the access moves through `loops` as through one array.
bool isFlat(mlir::Operation *access, llvm::ArrayRef<Loop> loops);

/// How result number `i` of a row loop is reduced.
mtf::ReductionKind kindOf(rt::YieldOp yield, unsigned i);

/// What such a result is called: `sum`, `largest`, `smallest`, `product`.
llvm::StringRef accumulatorWord(mtf::ReductionKind kind);

} // namespace meshc::target

#endif
