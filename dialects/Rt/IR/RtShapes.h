//===- RtShapes.h - what library calls are told ----------------------------===//
//
// The sizes and strides, in elements, that the runtime's calls take (runtime/include/meshrt/shapes.h), computed from the
// operands' types and the op's lists of dim names.
//
//===----------------------------------------------------------------------===//
#ifndef RT_IR_RTSHAPES_H
#define RT_IR_RTSHAPES_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace meshc::rt {

/// One index made of adjacent dims.
struct Index {
  int64_t size = 1;
  int64_t stride = 0;
};

struct GemmShape {
  /// One operand: the strides of its row and column index.
  struct Matrix {
    int64_t row = 0, col = 1;
  };
  /// One batch loop, outermost first; stride 0 where the operand lacks the dim.
  struct Batch {
    int64_t size = 1, a = 0, b = 0, c = 0;
  };
  int64_t m = 1, n = 1, k = 1;
  Matrix a, b, c;
  llvm::SmallVector<Batch, 2> batches;
};

struct AttendShape {
  /// Strides of one operand; head dims are contiguous.
  struct Strides {
    int64_t batch = 0, head = 0, row = 0;
  };
  int64_t batch = 1, heads = 1, kvHeads = 1, queries = 1, keys = 1, dim = 1, valueDim = 1;
  double scale = 1;
  Strides q, k, v, o, lse;
};

} // namespace meshc::rt

#endif
