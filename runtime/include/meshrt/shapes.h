//===- shapes.h - What a library call is told, on every target ------------===//
//
// The plain structs that matrix products, attention and collectives take. Both
// targets' headers (cpu/*.h, cuda/*.h) define functions of the same names over
// them, so one printer writes either program.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SHAPES_H
#define MESHRT_SHAPES_H

#include "meshrt/types.h"

namespace meshrt {

/// A batched product C[m, n] = alpha * A[m, k] * B[k, n] + beta * C[m, n].
struct MatMul {
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1;
  float beta = 0;      ///< 0: C is only written and may hold anything, even NaN
  int64_t batch = 1;   ///< outer batch
  int64_t batch2 = 1;  ///< inner batch
};

/// Strides of one operand, in elements. `batch`/`batch2` 0: the same matrix for
/// every batch (not allowed for C).
struct Strides {
  int64_t row = 0, col = 1;
  int64_t batch = 0, batch2 = 0;
};

/// Strides in elements; the head dim (d or e) is contiguous.
struct HeadStrides {
  int64_t batch = 0, head = 0, row = 0;
};

/// Attention of `queries` over `keys`; cpu/attention.h has the formulas.
struct Attend {
  int64_t batch = 1, heads = 1, kvHeads = 1;
  int64_t queries = 0, keys = 0;
  int64_t dim = 0;      ///< of q and k
  int64_t valueDim = 0; ///< of v and o
  float scale = 1;
  HeadStrides q = {}, k = {}, v = {}, o = {};
  HeadStrides lse = {};      ///< row stride included; usually {heads * queries, queries, 1}
  /// Global indices of the local element 0, for the mask.
  int64_t firstQuery = 0, firstKey = 0, firstBatch = 0, firstHead = 0;
};

/// Which pairs of a block of queries and keys a mask lets through.
enum class Visible : uint8_t { None, Some, All };

struct NoMask {
  MESHRT_HOST_DEVICE bool operator()(int64_t, int64_t, int64_t, int64_t) const {
    return true;
  }
  MESHRT_HOST_DEVICE Visible block(int64_t, int64_t, int64_t, int64_t, int64_t,
                                   int64_t) const {
    return Visible::All;
  }
};

/// key <= query.
struct CausalMask {
  MESHRT_HOST_DEVICE bool operator()(int64_t query, int64_t key, int64_t,
                                     int64_t) const {
    return key <= query;
  }
  /// Queries [q0, q1), keys [k0, k1) of one batch element and head.
  MESHRT_HOST_DEVICE Visible block(int64_t q0, int64_t q1, int64_t k0,
                                   int64_t k1, int64_t, int64_t) const {
    if (k0 > q1 - 1)
      return Visible::None;
    return k1 - 1 <= q0 ? Visible::All : Visible::Some;
  }
};

enum class Reduce : uint8_t { Sum, Max, Min };

/// Moves a split from one dim to another. With n members, in memory order:
///   splitFirst:  data[outer][n * split][mid][concat][inner]
///             -> result[outer][split][mid][n * concat][inner]
///   otherwise:   data[outer][concat][mid][n * split][inner]
///             -> result[outer][n * concat][mid][split][inner]
struct AllToAll {
  int64_t outer = 1, split = 1, mid = 1, concat = 1, inner = 1;
  bool splitFirst = true;
};

} // namespace meshrt

#endif // MESHRT_SHAPES_H
